import { epochOf } from '../admit/quotas.ts'
import type { ProviderId } from '../encoding/ids.ts'
import type { Market } from '../market/market.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import type { Provider } from '../registry/provider.ts'
import { jobRefusal, type Load, loadOf, type Refusal, type Terms } from './eligibility.ts'
import type { KindRound } from './match-round.ts'
import { Alike } from './provider-search.ts'

/** The maximum number of demands per kind and round whose refusals are kept. Jobs of further demands have no list. */
const LISTS_MAX = 8

/** The providers that refused the jobs of a round, with the reasons (EXPLAIN-3). */
export interface RoundRefusals {
  readonly lists: readonly (readonly (readonly [ProviderId, Refusal])[])[]
  /** For each assignment in turn the number of its list; null if it has none. */
  readonly listOf: readonly (number | null)[]
}

/**
 * Call this once the leases of the round are issued, with the rounds of all its kinds.
 *
 * The round itself records nothing, because it asks only as far as it must. Nothing is lost: no capacity is freed
 * within a round. A provider that did not fit a job then does not fit it at the end. Similar jobs are refused
 * alike, so one of them stands for all.
 */
export function roundRefusals(
  market: Pick<Market, 'nowMs' | 'policy' | 'pool'>,
  round: KindRound,
  rounds: readonly KindRound[],
  providers: readonly Provider[],
): RoundRefusals {
  const { nowMs, policy, pool } = market
  const epoch = epochOf(nowMs, policy)
  // An assigned job was within its window and limits, even if these are full by now.
  const terms: Terms = { nowMs, policy, epoch, isWindowFull: () => false, admit: null }
  const loads = loadsOf(round, rounds, providers, epoch)
  const lists: (readonly [ProviderId, Refusal])[][] = []

  const listFor = (job: QueuedJob): number | null => {
    if (lists.length === LISTS_MAX) return null
    const list: [ProviderId, Refusal][] = []
    for (const [provider, { before, after }] of loads) {
      // Failures from before the round count first: the provider may have filled up with other jobs.
      const refusal =
        jobRefusal(provider, before, job, terms) ?? jobRefusal(provider, after, job, terms)
      if (refusal !== null) list.push([provider.id, refusal])
    }
    return lists.push(list) - 1
  }

  const byCaller = pool.listsCallers
  const known = new Alike<{ list: number | null | undefined }>(() => ({ list: undefined }))
  let last: { readonly job: QueuedJob; readonly list: number | null } | null = null
  const listOf = round.assignments.map(({ job }) => {
    if (job.denials !== null) return listFor(job)
    // Shapes are interned, so this comparison is enough for most jobs.
    if (last?.job.shape === job.shape && last.job.units === job.units) return last.list
    const alike = known.of(job, byCaller)
    if (alike.list === undefined) alike.list = listFor(job)
    last = { job, list: alike.list }
    return alike.list
  })
  return { lists, listOf }
}

/** The load of the providers before and after the round. All kinds share the lease caps. */
function loadsOf(
  { kind }: KindRound,
  rounds: readonly KindRound[],
  providers: readonly Provider[],
  epoch: number,
): Map<Provider, { readonly before: Load; readonly after: Load }> {
  const loads = new Map(
    providers.map((provider) => {
      const after = loadOf(provider, kind, epoch)
      return [provider, { before: { ...after }, after }]
    }),
  )
  for (const { kind: given, assignments } of rounds) {
    for (const { job, provider } of assignments) {
      const before = loads.get(provider)?.before
      if (before === undefined) continue
      before.leases--
      if (given === kind) before.units -= job.units
    }
  }
  return loads
}
