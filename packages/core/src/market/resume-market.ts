import type { WorkerId } from '../encoding/ids.ts'
import { isLive } from '../lease/lease-table.ts'
import type { Provider } from '../registry/provider.ts'
import type { Market } from './market.ts'

/**
 * The dispatcher was unreachable for `gapMs`, which is charged to nobody (ENGINE-4). The deadlines of live leases
 * and of proofs, the last heartbeats and the absences of workers move by the gap. Call it before `advanceMarket`.
 */
export function resumeMarket(market: Market, gapMs: number): void {
  if (gapMs === 0) return
  const { due, pool, touch } = market
  for (const provider of pool.all()) {
    provider.lastHeartbeat += gapMs
    for (const worker of provider.workers?.byId.values() ?? []) {
      if (worker.goneSince !== null) worker.goneSince += gapMs
    }
    pool.touch(provider, market.nowMs)
    touch.provider(provider)
  }
  market.fund.shift(gapMs)
  for (const lease of market.leases.values()) {
    if (!isLive(lease.status)) continue
    lease.tDeadline += gapMs
    if (lease.timeoutAt !== null) lease.timeoutAt += gapMs
    // The start stays as it was, so the ack timeout gets longer.
    lease.terms = { ...lease.terms, ackTimeoutMs: lease.terms.ackTimeoutMs + gapMs }
    touch.lease(lease)
  }
  due.rebuild()
}

/** The workers that the state has as connected, ordered by provider and id. */
export function connectedWorkers(
  market: Market,
): { readonly provider: Provider; readonly workerId: WorkerId }[] {
  return market.pool.all().flatMap((provider) =>
    [...(provider.workers?.byId.values() ?? [])]
      .filter(({ goneSince }) => goneSince === null)
      .map(({ id: workerId }) => ({ provider, workerId }))
      .sort((a, b) => (a.workerId < b.workerId ? -1 : 1)),
  )
}
