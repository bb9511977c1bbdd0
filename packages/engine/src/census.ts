import {
  type KindName,
  type Market,
  PROVIDER_STATUSES,
  type ProviderStatus,
  type Refusal,
  refusalOf,
  type Terms,
  termsNow,
} from '@fairlead/core'

/** How much waits, in one kind. */
export interface QueueCensus {
  readonly kind: KindName
  /** Somebody would fit; all others are held by their backoff or a limit, or have nobody. */
  readonly ready: number
  readonly backoff: number
  /** Somebody would fit, were it not for a limit. */
  readonly budget: number
  readonly noProvider: number
  /** When the oldest of them was enqueued; null where none waits. */
  readonly oldestAt: number | null
}

/** What is in memory, counted. It is ahead of the store by what is being written. */
export interface Census {
  readonly at: number
  readonly queues: readonly QueueCensus[]
  readonly leases: number
  readonly workers: number
  readonly providers: Readonly<Record<ProviderStatus, number>>
}

/** Jobs that are looked at for the oldest that waits: nearly always it is among the first. */
const OLDEST_LOOK_MAX = 50_000
/** Groups that are told apart; of more than these, the rest counts as ready. */
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
  const oldest = oldestWaiting(market)
  const terms = termsNow(market)
  const queues = [...market.queues].map(([kind, queue]) => {
    const { budget, noProvider } = notReady(market, kind, terms)
    return {
      kind,
      ready: queue.readySize - budget - noProvider,
      backoff: queue.size - queue.readySize,
      budget,
      noProvider,
      oldestAt: oldest.get(kind) ?? null,
    }
  })
  const byStatus = providers as Record<ProviderStatus, number>
  return { at: market.nowMs, queues, leases, workers, providers: byStatus }
}

type Held = 'budget' | 'noProvider'

/** Jobs out of backoff that no provider fits. Alike groups of several callers are asked about once. */
function notReady(market: Market, kind: KindName, terms: Terms): Readonly<Record<Held, number>> {
  const { pool, policy } = market
  const { requestersAllow, requestersDeny } = policy.registry
  const asksCaller =
    pool.listsCallers ||
    requestersAllow !== null ||
    requestersDeny.length > 0 ||
    hasWindow(market) ||
    terms.admit?.isByCaller === true
  const known = new Map<string, Held | null>()
  const counts = { budget: 0, noProvider: 0 }
  let groups = 0
  for (const { shape, jobs: alike, leastUnits } of market.queues.get(kind)?.readyGroups() ?? []) {
    if (++groups > GROUPS_MAX) break
    const key = `${asksCaller ? shape.caller : ''}|${leastUnits}|${shape.demandKey}`
    let held = known.get(key)
    if (held === undefined) {
      const job = {
        id: NOBODY,
        caller: shape.caller,
        units: leastUnits,
        tokens: 1,
        shape,
        denials: null,
      }
      held = heldBy(pool.passing(kind, market.nowMs).map((one) => refusalOf(one, job, terms)))
      known.set(key, held)
    }
    if (held !== null) counts[held] += alike
  }
  return counts
}

function heldBy(refusals: readonly (Refusal | null)[]): Held | null {
  if (refusals.includes(null)) return null
  return refusals.includes('limit_exhausted') ? 'budget' : 'noProvider'
}

const NOBODY = '0x' as Parameters<typeof refusalOf>[1]['id']

function hasWindow({ policy }: Market): boolean {
  return policy.queue.quotas.requesterWindow !== null
}

/** Jobs are in memory in the order of their acceptance, so the first that waits is the oldest. */
function oldestWaiting({ jobs, queues }: Market): Map<KindName, number> {
  const oldest = new Map<KindName, number>()
  const wanted = [...queues.values()].filter(({ size }) => size > 0).length
  let looked = 0
  for (const { status, shape, enqueueTs } of jobs.values()) {
    if (oldest.size === wanted || ++looked > OLDEST_LOOK_MAX) break
    if (status === 'QUEUED' && !oldest.has(shape.kind)) oldest.set(shape.kind, enqueueTs)
  }
  return oldest
}
