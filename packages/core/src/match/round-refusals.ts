import { epochOf } from '../admit/quotas.ts'
import type { ProviderId } from '../encoding/ids.ts'
import type { Market } from '../market/market.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import type { Provider } from '../registry/provider.ts'
import { jobRefusal, type Load, loadOf, type Refusal, type Terms } from './eligibility.ts'
import type { KindRound } from './match-round.ts'
import { Alike } from './provider-search.ts'

/** Demands of one kind in one round whose refusals are kept; jobs of further ones refer to none. */
const LISTS_MAX = 8

/** Who of some providers refused which job of a round, and why (EXPLAIN-3). */
export interface RoundRefusals {
  readonly lists: readonly (readonly (readonly [ProviderId, Refusal])[])[]
  /** For each assignment in turn the number of its list; null is none. */
  readonly listOf: readonly (number | null)[]
}

/**
 * To be called once the leases of the round are issued, with the rounds of all its kinds.
 *
 * The round itself notes nothing, because it asks only as far as it must. It need not: within a round
 * nobody gets anything back, so who did not fit a job by then does not fit it at the end. And jobs that
 * are alike are refused alike, so one of them speaks for all.
 */
export function roundRefusals(
  market: Pick<Market, 'nowMs' | 'policy' | 'pool'>,
  round: KindRound,
  rounds: readonly KindRound[],
  providers: readonly Provider[],
): RoundRefusals {
  const { nowMs, policy, pool } = market
  const epoch = epochOf(nowMs, policy)
  // Whoever was assigned was within its window and limits, though they may be full by now.
  const terms: Terms = { nowMs, policy, epoch, isWindowFull: () => false, admit: null }
  const loads = loadsOf(round, rounds, providers, epoch)
  const lists: (readonly [ProviderId, Refusal])[][] = []

  const listFor = (job: QueuedJob): number | null => {
    if (lists.length === LISTS_MAX) return null
    const list: [ProviderId, Refusal][] = []
    for (const [provider, { before, after }] of loads) {
      // What failed before the round counts first: the provider may have filled up with other jobs.
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
    // Shapes are interned, so for most this is all it takes.
    if (last?.job.shape === job.shape && last.job.units === job.units) return last.list
    const alike = known.of(job, byCaller)
    if (alike.list === undefined) alike.list = listFor(job)
    last = { job, list: alike.list }
    return alike.list
  })
  return { lists, listOf }
}

/** What the providers held before the round and hold after it; lease caps are shared by all kinds. */
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
