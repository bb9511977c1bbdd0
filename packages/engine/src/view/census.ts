import {
  type Job,
  type KindName,
  type Market,
  PROVIDER_STATUSES,
  type ProviderStatus,
  type Refusal,
} from '@fairlead/core'
import { refusalOf, sessionGates, type Terms, termsNow } from '@fairlead/core/internal'

/** The waiting jobs of one kind, counted by the reason why they wait. */
export interface QueueCensus {
  readonly kind: KindName
  /** Jobs that a provider would take now. All others wait for a backoff, a limit or a provider. */
  readonly ready: number
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

/** At most this many groups are told apart. Jobs of further groups count as ready. */
const GROUPS_MAX = 20_000

export function takeCensus(market: Market): Census {
  let leases = 0
  for (const held of market.leasesOf.values()) leases += held.size
  let workers = 0
  const providers = Object.fromEntries(PROVIDER_STATUSES.map((status) => [status, 0]))
  for (const { status, workers: own } of market.pool.all()) {
    providers[status] = (providers[status] ?? 0) + 1
    for (const { goneSince } of own?.byId.values() ?? []) if (goneSince === null) workers++
  }
  const terms = termsNow(market)
  const queues: QueueCensus[] = [...market.queues].map(([kind, queue]) => {
    const { budget, noProvider, paused } = notReady(market, kind, terms)
    return {
      kind,
      ready: queue.readySize - budget - noProvider - paused,
      backoff: queue.size - queue.readySize,
      budget,
      noProvider,
      paused,
      notOpen: 0,
      pacing: 0,
      oldestAt: queue.oldestTs,
    }
  })
  queues.push(waitingRegistrations(market, terms))
  const byStatus = providers as Record<ProviderStatus, number>
  return { at: market.nowMs, queues, leases, workers, providers: byStatus }
}

type Held = 'budget' | 'noProvider' | 'paused'
type Shape = Job['shape']

/**
 * Returns a function that tells what holds ready jobs of a shape. Similar jobs of several callers are checked
 * once.
 */
function holders(
  market: Market,
  kind: KindName,
  terms: Terms,
): (shape: Shape, units: number) => Held | null {
  const { pool, policy } = market
  const { requestersAllow, requestersDeny } = policy.registry
  const asksCaller =
    pool.listsCallers ||
    requestersAllow !== null ||
    requestersDeny.length > 0 ||
    hasWindow(market) ||
    terms.admit?.isByCaller === true
  const known = new Map<string, Held | null>()
  return (shape, units) => {
    const key = `${asksCaller ? shape.caller : ''}|${units}|${shape.demandKey}`
    let held = known.get(key)
    if (held === undefined) {
      const job = { id: NOBODY, caller: shape.caller, units, tokens: 1, shape, denials: null }
      held = heldBy(pool.passing(kind, market.nowMs).map((one) => refusalOf(one, job, terms)))
      known.set(key, held)
    }
    return held
  }
}

/** Counts the jobs out of backoff that no provider takes now. */
function notReady(market: Market, kind: KindName, terms: Terms): Readonly<Record<Held, number>> {
  const holder = holders(market, kind, terms)
  const counts = { budget: 0, noProvider: 0, paused: 0 }
  let groups = 0
  for (const { shape, jobs: alike, leastUnits } of market.queues.get(kind)?.readyGroups() ?? []) {
    if (++groups > GROUPS_MAX) break
    const isPaused = market.pauses.holding(shape) !== null
    const held = isPaused ? 'paused' : holder(shape, leastUnits)
    if (held !== null) counts[held] += alike
  }
  return counts
}

/** Registrations wait in their sessions, and for more reasons than other jobs. */
function waitingRegistrations(market: Market, terms: Terms): QueueCensus {
  const { sessions, jobs } = market
  const holder = holders(market, 'registration', terms)
  const counts = {
    ready: 0,
    backoff: 0,
    budget: 0,
    noProvider: 0,
    paused: 0,
    notOpen: 0,
    pacing: 0,
  }
  const gateOf = sessionGates(market)
  let oldestAt: number | null = null
  for (const waiting of sessions.jobs()) {
    const job = waiting.sentAt === null ? jobs.get(waiting.entry.id) : undefined
    if (job === undefined) continue
    const gate = gateOf(waiting)
    if (gate === 'not_open') counts.notOpen++
    else counts[gate ?? holder(job.shape, job.units) ?? 'ready']++
    const { sendAt } = waiting.entry
    if (sendAt === null || gate === 'pacing') continue
    oldestAt = Math.min(sendAt, oldestAt ?? sendAt)
  }
  return { kind: 'registration', ...counts, oldestAt }
}

function heldBy(refusals: readonly (Refusal | null)[]): Held | null {
  if (refusals.includes(null)) return null
  return refusals.includes('limit_exhausted') ? 'budget' : 'noProvider'
}

const NOBODY = '0x' as Parameters<typeof refusalOf>[1]['id']

function hasWindow({ policy }: Market): boolean {
  return policy.queue.quotas.requesterWindow !== null
}
