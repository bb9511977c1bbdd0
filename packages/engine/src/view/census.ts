import type { KindName, Market, ProviderStatus, WaitReason } from '@fairlead/core'
import { PROVIDER_STATUSES } from '@fairlead/core'
import { type HeldJobs, scanWaiting, type WaitingScan } from './waiting/scan.ts'

/** The waiting jobs of one kind, counted by the reason why they wait. */
export interface QueueCensus {
  readonly kind: KindName
  /** Jobs that a provider would take now. All others wait for a backoff, a limit or a provider. */
  readonly ready: number
  /** Jobs in backoff, before their time or behind other jobs. */
  readonly backoff: number
  /** Jobs that a provider would take, were it not for a limit. */
  readonly budget: number
  readonly noProvider: number
  /** Jobs that somebody has paused. */
  readonly paused: number
  /** Registrations only. `notOpen`: the session has not opened. `pacing`: the job's own send time has not come. */
  readonly notOpen: number
  readonly pacing: number
  /**
   * The enqueue time of the oldest waiting job. For registrations, the earliest send time that has come. Null if
   * there is none.
   */
  readonly oldestAt: number | null
}

/** Counts from memory, which may be ahead of the store by the writes in flight. */
export interface Census {
  readonly at: number
  readonly queues: readonly QueueCensus[]
  readonly leases: number
  readonly workers: number
  readonly providers: Readonly<Record<ProviderStatus, number>>
}

export function takeCensus(market: Market, scan: WaitingScan = scanWaiting(market)): Census {
  let leases = 0
  for (const held of market.leasesOf.values()) leases += held.size
  let workers = 0
  const providers = Object.fromEntries(PROVIDER_STATUSES.map((status) => [status, 0]))
  for (const { status, workers: own } of market.pool.all()) {
    providers[status] = (providers[status] ?? 0) + 1
    for (const { goneSince } of own?.byId.values() ?? []) if (goneSince === null) workers++
  }
  const heldOf = (kind: KindName) => scan.held.filter((one) => one.kind === kind)
  const queues: QueueCensus[] = [...market.queues].map(([kind, queue]) => ({
    kind,
    ...countsOf(heldOf(kind)),
    oldestAt: queue.oldestTs,
  }))
  const registrations = heldOf('registration')
  queues.push({
    kind: 'registration',
    ...countsOf(registrations),
    oldestAt: oldestOf(registrations),
  })
  const byStatus = providers as Record<ProviderStatus, number>
  return { at: market.nowMs, queues, leases, workers, providers: byStatus }
}

type Count = Exclude<keyof QueueCensus, 'kind' | 'oldestAt'>

const COUNTED_AS: { readonly [R in WaitReason]?: Count } = {
  ready: 'ready',
  budget: 'budget',
  no_provider: 'noProvider',
  paused: 'paused',
  not_open: 'notOpen',
  pacing: 'pacing',
}

function countsOf(held: readonly HeldJobs[]): Record<Count, number> {
  const counts = {
    ...{ ready: 0, backoff: 0, budget: 0, noProvider: 0, paused: 0, notOpen: 0, pacing: 0 },
  }
  for (const { hold, jobs } of held) counts[COUNTED_AS[hold.reason] ?? 'backoff'] += jobs
  return counts
}

function oldestOf(held: readonly HeldJobs[]): number | null {
  let oldest: number | null = null
  for (const { hold, since } of held) {
    if (hold.reason === 'pacing' || since === null) continue
    oldest = Math.min(since, oldest ?? since)
  }
  return oldest
}
