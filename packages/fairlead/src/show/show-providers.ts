import type { ProviderRecord } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import { factLines } from '../terminal/fact-lines.ts'
import { table } from '../terminal/table.ts'
import { unstakingFact } from './show-balance.ts'

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
    ...provider.unstaking.map(({ amount_u64, matures_at }) =>
      unstakingFact(amount_u64, matures_at),
    ),
    ...fundFacts(provider, nowMs),
    ['heard of', `${durationText(nowMs - provider.last_heartbeat)} ago`],
  ]
  if (cooldown !== null && cooldown > nowMs) {
    facts.push(['cools down', `for ${durationText(cooldown - nowMs)}`])
  }
  for (const { worker_id, slots, leases, gone_since } of workers ?? []) {
    const gone = gone_since === null ? '' : `, gone for ${durationText(nowMs - gone_since)}`
    facts.push(['worker', `${worker_id}: ${leases} of ${slots} slots taken${gone}`])
  }
  return [provider.provider_id, ...factLines(facts)]
}

/** What only a fund looks at: of a provider without a key or an outcome there is nothing to tell. */
function fundFacts(provider: ProviderRecord, nowMs: number): [string, string][] {
  const { public_key: key, attestation, service, offence_epochs, jailed_until: jail } = provider
  const facts: [string, string][] = []
  if (key !== null) facts.push(['key', key])
  if (attestation !== null) {
    const { class: className, not_after } = attestation
    const end = new Date(not_after).toISOString()
    facts.push([
      'attested',
      `as ${className}, ${not_after > nowMs ? 'until' : 'no longer since'} ${end}`,
    ])
  }
  for (const { kind, band, samples, p95_ms, fail_ppm, availability_ppm } of service) {
    const p95 = p95_ms === null ? 'no p95' : `p95 ${p95_ms} ms a unit`
    const rates = `${percent(fail_ppm)} failures, ${percent(availability_ppm)} available`
    facts.push([`band, ${kind}`, `${band}: ${p95}, ${rates}, over ${samples} outcomes`])
  }
  if (offence_epochs.length > 0) facts.push(['offences', `in epoch ${offence_epochs.join(', ')}`])
  if (jail !== null && jail > nowMs) {
    facts.push(['in jail', `until ${new Date(jail).toISOString()}`])
  }
  return facts
}

function percent(ppm: number): string {
  return `${(ppm / 10_000).toFixed(2)} %`
}
