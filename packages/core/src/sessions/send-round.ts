import { openAdmit } from '../admit/admit-round.ts'
import type { Seed } from '../encoding/ids.ts'
import { issueLease } from '../lease/issue-lease.ts'
import type { Lease } from '../lease/lease.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { isCallerDenied } from '../match/eligibility.ts'
import {
  BatchMatcher,
  firstOf,
  type KindRound,
  type RoundTerms,
  roundTerms,
} from '../match/match-round.ts'
import { ProviderSearch } from '../match/provider-search.ts'
import type { Service } from './session-dispatch.ts'

const NO_PICKS: KindRound['batch']['picks'] = new Set()

/**
 * The registrations of a round. Each job that its session and budget let go now is given to the first provider
 * that fits (DISPATCH-8). A token is taken only if one does. Null if nothing was sent.
 */
export function sendRound(
  market: Market,
  seed: Seed,
): { readonly round: KindRound; readonly leases: readonly Lease[] } | null {
  const { sessions, pool, policy } = market
  if (!(sessions.nextSendAt() <= market.nowMs) && !sessions.hasUnserved) return null
  const admit = openAdmit(market)
  const terms = roundTerms({ ...market, admit })
  const search = new ProviderSearch({ kind: 'registration', terms, pool, seed, given: new Map() })
  const matcher = new BatchMatcher(search, terms)
  const serve = (id: Job['id']): Service => {
    const job = market.jobs.get(id) as Job
    const before = matcher.made.length
    matcher.run({ jobs: [job], picks: NO_PICKS })
    if (matcher.made.length > before) return 'served'
    return search.freeLeases(1) > 0 && isParticular(market, job, terms) ? 'pass' : 'nobody'
  }
  sessions.sendReady(({ entry }) => serve(entry.id), policy.queue.batchSize)
  admit?.endKind()
  if (admit !== null) market.claims = new Map([...market.claims, ...admit.claims()])
  const assignments = matcher.made
  if (assignments.length === 0) return null
  const leases = assignments.map(({ job, provider }) =>
    issueLease(market, job as Job, provider, seed),
  )
  const round: KindRound = {
    kind: 'registration',
    batch: { jobs: assignments.map(({ job }) => job), picks: NO_PICKS },
    assignments,
    providerOrder: (count) => firstOf(search, count),
    ranking: () => matcher.ranked(),
  }
  return { round, leases }
}

/** True if the reason that no provider fits may be the job itself, and not its platform. */
function isParticular({ policy, pool }: Market, job: Job, terms: RoundTerms): boolean {
  return (
    job.denials !== null ||
    job.shape.regions !== null ||
    pool.listsCallers ||
    terms.isWindowFull(job.caller) ||
    terms.admit?.concerns(job) === true ||
    isCallerDenied(job.caller, policy)
  )
}
