import type { WorkerId } from '../encoding/ids.ts'

/** One process that serves a provider. */
export interface Worker {
  readonly id: WorkerId
  /** Leases that it takes at once. */
  slots: number
  /** Null while it is connected. */
  goneSince: number | null
  /** Live leases that are its own. */
  leases: number
}

/**
 * The workers of one provider. A worker that left is kept while it has a live lease, because it may
 * come back for it; without one there is nothing to come back for, and it is forgotten (WORKER-4).
 */
export interface Workers {
  readonly byId: Map<WorkerId, Worker>
  /** Of all that are connected, together: one of the three caps (WORKER-1). */
  slots: number
}

/** Workers of one provider, whether they are connected or not. */
export const WORKERS_MAX = 1_024
/** What one worker may take at once; as high as the policy's own cap can be. */
export const SLOTS_MAX = 1_000_000

export function newWorkers(workers: Iterable<Omit<Worker, 'leases'>> = []): Workers {
  const byId = new Map<WorkerId, Worker>()
  let slots = 0
  for (const { id, slots: own, goneSince } of workers) {
    byId.set(id, { id, slots: own, goneSince, leases: 0 })
    if (goneSince === null) slots += own
  }
  return { byId, slots }
}

/**
 * The worker that the next lease is pushed to: of those with a free slot the one with the most, then
 * the lowest id, so that a restarted dispatcher chooses the same (WORKER-2). Null if none is free.
 */
export function freestWorker({ byId }: Workers): Worker | null {
  let best: Worker | null = null
  let most = 1
  for (const worker of byId.values()) {
    if (worker.goneSince !== null) continue
    const free = worker.slots - worker.leases
    if (free < most || (free === most && best !== null && worker.id > best.id)) continue
    best = worker
    most = free
  }
  return best
}

/** One lease less. Who has left and holds nothing any more is forgotten. */
export function dropWorkerLease(workers: Workers, worker: Worker): void {
  worker.leases--
  forgetIdle(workers, worker)
}

export function forgetIdle({ byId }: Workers, worker: Worker): void {
  if (worker.goneSince !== null && worker.leases === 0) byId.delete(worker.id)
}
