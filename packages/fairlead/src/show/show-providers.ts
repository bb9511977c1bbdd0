import type { ProviderRecord } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import { table } from '../terminal/table.ts'

/** Providers as a table. */
export function providersTable(providers: readonly ProviderRecord[]): string[] {
  const rows = providers.map((provider) => [
    provider.provider_id,
    provider.status,
    `${(provider.health / 10).toFixed(0)} %`,
    `${provider.leases}/${provider.lease_cap}`,
    String(provider.workers?.filter(({ gone_since }) => gone_since === null).length ?? 0),
    provider.kinds.join(','),
    provider.models.join(','),
  ])
  return table(
    [
      { title: 'provider' },
      { title: 'status' },
      { title: 'health', align: 'right' },
      { title: 'leases', align: 'right' },
      { title: 'workers', align: 'right' },
      { title: 'kinds' },
      { title: 'models' },
    ],
    rows,
  )
}

/** One provider, a line a fact. */
export function providerText(provider: ProviderRecord, nowMs = Date.now()): string[] {
  const { workers, cooldown_until: cooldown } = provider
  const facts: [string, string][] = [
    ['status', provider.status],
    ['kinds', provider.kinds.join(', ') || 'none'],
    ['models', provider.models.join(', ') || 'none'],
    ['region', provider.region ?? 'none given'],
    ['health', `${(provider.health / 10).toFixed(1)} %, ${provider.failures} failures in a row`],
    ['leases', `${provider.leases} of ${provider.lease_cap}`],
    ['stake', String(provider.stake_u64)],
    ['heard of', `${durationText(nowMs - provider.last_heartbeat)} ago`],
  ]
  if (cooldown !== null && cooldown > nowMs) {
    facts.push(['cools down', `for ${durationText(cooldown - nowMs)}`])
  }
  for (const { worker_id, slots, leases, gone_since } of workers ?? []) {
    const gone = gone_since === null ? '' : `, gone for ${durationText(nowMs - gone_since)}`
    facts.push(['worker', `${worker_id}: ${leases} of ${slots} slots taken${gone}`])
  }
  const width = Math.max(...facts.map(([name]) => name.length))
  return [provider.provider_id, ...facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`)]
}
