import { isWorkerName, type LeaseId, type WorkerId } from '../encoding/ids.ts'
import { FairleadError, invalidParams, limitExceeded } from '../errors.ts'
import { giveBack } from '../lease/give-back.ts'
import { olderFirst, strandLease, unstrandLease } from '../lease/hold-lease.ts'
import type { Lease } from '../lease/lease.ts'
import type { Market } from '../market/market.ts'
import type { Provider } from './provider.ts'
import { forgetIdle, SLOTS_MAX, WORKERS_MAX, type Worker, type Workers } from './workers.ts'

/** The data that a worker sends when it connects. */
export interface WorkerConnect {
  readonly workerId: WorkerId
  readonly slots: number
  /** The leases that the worker still has; it disowns its other ones. Null if it does not say. */
  readonly holds: readonly LeaseId[] | null
}

/**
 * Connects a worker, for the first time or again. It continues with its leases, which are returned, oldest first.
 * Disowned leases are given back (WORKER-4, WORKER-5).
 */
export function connectWorker(
  market: Market,
  provider: Provider,
  { workerId, slots, holds }: WorkerConnect,
): readonly Lease[] {
  if (!isWorkerName(workerId)) {
    throw invalidParams('worker_id', '1 to 128 of A–Z, a–z, 0–9, dot, colon, dash and underscore')
  }
  checkSlots(slots)
  const workers = workersOf(provider)
  const known = workers.byId.get(workerId)
  if (known === undefined && workers.byId.size >= WORKERS_MAX) {
    throw limitExceeded('workers', WORKERS_MAX, workers.byId.size + 1)
  }
  const worker = known ?? { id: workerId, slots: 0, goneSince: market.nowMs, leases: 0 }
  workers.byId.set(workerId, worker)
  if (worker.goneSince !== null || worker.slots !== slots) market.touch.provider(provider)
  if (worker.goneSince !== null) {
    const { nowMs: at } = market
    market.emit({ type: 'workerConnected', at, providerId: provider.id, workerId, slots })
    worker.goneSince = null
    worker.slots = 0
  }
  resize(workers, worker, slots)
  const held = holds === null ? null : new Set(holds)
  return leasesOfWorker(market, provider, workerId).filter((lease) => {
    unstrandLease(market, lease)
    if (held === null || held.has(lease.id)) return true
    giveBack(market, lease, 'disowned')
    return false
  })
}

/** Changes the slots of a connected worker. It keeps leases that it holds above the new number. */
export function setWorkerSlots(
  market: Market,
  provider: Provider,
  { workerId, slots }: { readonly workerId: WorkerId; readonly slots: number },
): void {
  checkSlots(slots)
  const workers = workersOf(provider)
  const worker = workers.byId.get(workerId)
  if (worker === undefined || worker.goneSince !== null) {
    throw new FairleadError('NotFound', `${provider.id} has no connected worker ${workerId}`, {
      providerId: provider.id,
      workerId,
    })
  }
  if (worker.slots === slots) return
  resize(workers, worker, slots)
  market.touch.provider(provider)
}

/** Disconnects a worker. Its leases wait for it, or for another worker if they were not acked (WORKER-3). */
export function disconnectWorker(market: Market, provider: Provider, workerId: WorkerId): void {
  const { nowMs: at } = market
  const workers = workersOf(provider)
  const worker = workers.byId.get(workerId)
  if (worker === undefined || worker.goneSince !== null) return
  worker.goneSince = at
  workers.slots -= worker.slots
  for (const lease of leasesOfWorker(market, provider, workerId)) strandLease(market, lease)
  forgetIdle(workers, worker)
  market.touch.provider(provider)
  market.emit({ type: 'workerLeft', at, providerId: provider.id, workerId })
}

/** Keeps the sum over connected workers up to date, because every check of a job reads it. */
function resize(workers: Workers, worker: Worker, slots: number): void {
  workers.slots += slots - worker.slots
  worker.slots = slots
}

/** The live leases of one worker, oldest first. */
export function leasesOfWorker(market: Market, { id }: Provider, workerId: WorkerId): Lease[] {
  const leases = [...(market.leasesOf.get(id)?.values() ?? [])]
  return leases.filter((lease) => lease.workerId === workerId).sort(olderFirst)
}

function checkSlots(slots: number): void {
  if (!Number.isSafeInteger(slots) || slots < 0) throw invalidParams('slots', 'a count of leases')
  if (slots > SLOTS_MAX) throw limitExceeded('slots', SLOTS_MAX, slots)
}

function workersOf({ id, workers }: Provider): Workers {
  if (workers !== null) return workers
  throw new FairleadError('InvalidState', `${id} is not served by workers`, { providerId: id })
}
