import { NO_CLAIMS, openAdmit } from '../admit/admit-round.ts'
import type { Seed } from '../encoding/ids.ts'
import { issueLease } from '../lease/issue-lease.ts'
import type { Lease } from '../lease/lease.ts'
import { moveStranded } from '../lease/move-leases.ts'
import { advanceMarket } from '../market/advance-market.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { sendRound } from '../sessions/send-round.ts'
import { type KindRound, matchRound } from './match-round.ts'

/**
 * Runs one round on a market and issues its leases. Leases that lost their worker before the ack get free slots
 * first; `moved` contains those that moved (WORKER-3).
 */
export function dispatchRound(
  market: Market,
  seed: Seed,
): {
  readonly rounds: readonly KindRound[]
  readonly leases: readonly Lease[]
  readonly moved: readonly Lease[]
} {
  // A policy change may have made something overdue since the time last moved.
  advanceMarket(market, market.nowMs)
  const moved = moveStranded(market)
  const { nowMs, policy, queues, pool, windows, pauses } = market
  const admit = openAdmit(market)
  const rounds = matchRound({ nowMs, seed, policy, queues, pool, windows, admit, pauses })
  market.claims = admit?.claims() ?? NO_CLAIMS
  const leases: Lease[] = []
  for (const { assignments } of rounds) {
    for (const { job, provider } of assignments) {
      leases.push(issueLease(market, job as Job, provider, seed))
    }
  }
  // Registrations come last, so that the leases of the other kinds count by now.
  const sent = sendRound(market, seed)
  if (sent === null) return { rounds, leases, moved }
  return { rounds: [...rounds, sent.round], leases: [...leases, ...sent.leases], moved }
}
