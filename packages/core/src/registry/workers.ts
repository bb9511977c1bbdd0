import type { WorkerId } from '../encoding/ids.ts'

/** One process that serves a provider. */
export interface Worker {
  readonly id: WorkerId
  /** The number of leases that it takes at once. */
  slots: number
  /** Null while it is connected. */
  goneSince: number | null
  /** The number of its live leases. */
  leases: number
}

/**
 * The workers of one provider. A worker that has left is kept while it has a live lease, because it may come back
 * for it. Without a live lease it is forgotten (WORKER-4).
 */
export interface Workers {
  readonly byId: Map<WorkerId, Worker>
  /** The sum over all connected workers: one of the three caps (WORKER-1). */
  slots: number
}

/** The most workers of one provider, connected or not. */
export const WORKERS_MAX = 1_024
/** The most leases that one worker may take at once; as high as the policy's own cap can be. */
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
 * The worker that gets the next lease: the one with the most free slots, then the lowest id. So a restarted
 * dispatcher chooses the same one (WORKER-2). Null if no slot is free.
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

/** Removes one lease of a worker. A worker that has left and holds nothing more is forgotten. */
export function dropWorkerLease(workers: Workers, worker: Worker): void {
  worker.leases--
  forgetIdle(workers, worker)
}

export function forgetIdle({ byId }: Workers, worker: Worker): void {
  if (worker.goneSince !== null && worker.leases === 0) byId.delete(worker.id)
}
