import type { JobStatus, WaitExplanation } from '@fairlead/core'
import { leaseCap } from '@fairlead/core/internal'
import { table } from '../terminal/table.ts'
import type { Lines } from '../terminal/terminal.ts'
import type { DemoResult } from './rules-market.ts'

/** What happened in the market, for a person. */
export function rulesReport(result: DemoResult, title: (text: string) => string): string[] {
  const parts = [
    summary(result),
    title('Wait for the first assignment, by tier'),
    waitsByTier(result),
    title('Jobs per provider'),
    jobsPerProvider(result),
    title('Ways back to the queue'),
    waysBack(result),
    title('The job that waited longest'),
    explanation(result.explained, result),
  ]
  return spaced(parts)
}

/** Parts with an empty line between them. */
export function spaced(parts: readonly Lines[]): string[] {
  return parts.flatMap((part, i) => [...(i === 0 ? [] : ['']), ...[part].flat()])
}

/** The same for a machine. */
export function rulesFigures(result: DemoResult): unknown {
  const { explained } = result
  return {
    rounds: result.rounds,
    simulated_ms: result.market.nowMs - result.startedAt,
    jobs: Object.fromEntries(countByStatus(result)),
    waits_ms: Object.fromEntries(tiersOf(result).map(({ tier, waits }) => [tier, spreadOf(waits)])),
    providers: result.providers.map(({ provider, offered, completed, declined, charged }) => ({
      provider_id: provider.id,
      offered,
      completed,
      declined,
      charged,
      health: provider.health,
      status: provider.status,
    })),
    requeues: Object.fromEntries(result.requeues),
    explained: {
      job_id: explained.job.id,
      waited_ms: explained.at - explained.job.enqueueTs,
      wait_reason: explained.waitReason,
      place: explained.place,
      of: explained.of,
      score: explained.score,
      terms: explained.terms,
      providers: Object.fromEntries(explained.providers.map(({ id, refusal }) => [id, refusal])),
    },
  }
}

function summary(result: DemoResult): string {
  const { market, rounds, startedAt } = result
  const counts = countByStatus(result).map(([status, n]) => `${n} ${status}`)
  const time = seconds(market.nowMs - startedAt)
  return `${market.jobs.size} jobs in ${rounds} rounds over ${time} of simulated time: ${counts.join(', ')}.`
}

function waitsByTier(result: DemoResult): string[] {
  const rows = tiersOf(result).map(({ tier, waits }) => {
    const { jobs, median, p95, longest } = spreadOf(waits)
    return [tier, String(jobs), seconds(median), seconds(p95), seconds(longest)]
  })
  const right = (name: string) => ({ title: name, align: 'right' as const })
  return table(
    [{ title: 'tier' }, right('jobs'), right('median'), right('95 %'), right('longest')],
    rows,
  )
}

function jobsPerProvider({ providers, market }: DemoResult): string[] {
  const rows = providers.map(({ provider, offered, completed, declined, charged }) => [
    provider.id.replace('provider:', ''),
    [...provider.offer.capabilities].join(' '),
    [...provider.offer.models].join(' '),
    String(provider.stake),
    String(leaseCap(provider, market.policy)),
    ...[offered, completed, declined, charged].map(String),
    String(provider.health),
  ])
  const left = ['provider', 'kinds', 'models'].map((name) => ({ title: name }))
  const right = ['stake', 'slots', 'offered', 'done', 'declined', 'charged', 'health']
  return table([...left, ...right.map((name) => ({ title: name, align: 'right' as const }))], rows)
}

function waysBack({ requeues, market }: DemoResult): string[] {
  const rows = [...requeues]
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    .map(([reason, n]) => [reason, String(n), isCharged(reason) ? 'charged, with backoff' : 'free'])
  const most = Math.max(...[...market.jobs.values()].map((job) => job.retries))
  const list = table(
    [{ title: 'reason' }, { title: 'times', align: 'right' }, { title: 'costs' }],
    rows,
  )
  const limit = market.policy.queue.retries.attemptMax
  return [...list, '', `The most retries of one job: ${most} of ${limit}.`]
}

/** Why a job waited, in sentences and one table. */
function explanation(explained: WaitExplanation, { waits, startedAt }: DemoResult): string[] {
  const { job, at, terms } = explained
  const wait = waits.get(job)
  const { shape } = job
  const who = `${shape.kind}${shape.model === null ? '' : ` ${shape.model}`}, ${shape.tier}, fee ${job.fee}, ${job.sizeBytes} bytes, ${job.units} units`
  const ends = wait === undefined ? 'and was never assigned' : `in the end ${seconds(wait)}`
  const reasons = new Map<string, string[]>()
  for (const { id, refusal } of explained.providers) {
    const reason = refusal ?? 'would fit'
    reasons.set(reason, [...(reasons.get(reason) ?? []), id.replace('provider:', '')])
  }
  const rows = [...reasons].map(([reason, names]) => [reason, names.join(' ')])
  return [
    `${job.id}`,
    `${who}`,
    `Asked ${seconds(at - startedAt)} into the run it had waited ${seconds(at - job.enqueueTs)}, ${ends}.`,
    `Gate: ${explained.waitReason}. Place ${explained.place} of ${explained.of} in the ${shape.kind} queue.`,
    `Score ${explained.score.toFixed(4)}: fee ${terms.fee}, size ${terms.size}, tier ${terms.tier} (of 1,000,000 each), age ${terms.ageSecs} s.`,
    '',
    ...table([{ title: 'first check that fails' }, { title: 'providers' }], rows),
  ]
}

function tiersOf({ market, waits }: DemoResult): { tier: string; waits: number[] }[] {
  const byTier = new Map<string, number[]>()
  for (const tier of Object.keys(market.policy.priority.tiers).reverse()) byTier.set(tier, [])
  for (const [job, wait] of waits) byTier.get(job.tier)?.push(wait)
  return [...byTier].map(([tier, list]) => ({ tier, waits: list.sort((a, b) => a - b) }))
}

function spreadOf(sorted: readonly number[]): {
  jobs: number
  median: number
  p95: number
  longest: number
} {
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return { jobs: sorted.length, median: at(0.5), p95: at(0.95), longest: at(1) }
}

function countByStatus({ market }: DemoResult): [JobStatus, number][] {
  const counts = new Map<JobStatus, number>()
  for (const { status } of market.jobs.values()) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
}

function isCharged(reason: string): boolean {
  return reason !== 'DECLINED' && reason !== 'RELEASED' && reason !== 'LEASE_CANCELLED'
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
