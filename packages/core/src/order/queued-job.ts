import type { Demand, KindName } from '../enqueue/kinds.ts'
import type { Caller, JobId, ProviderId } from '../ids.ts'
import type { HeapItem } from './lazy-heap.ts'
import type { Scored } from './score.ts'

/**
 * All that matching looks at in a job except its caller, its units and its denials. Jobs of one
 * caller with one shape form a group: what refuses one of them refuses all (MATCH-2).
 */
export interface Shape {
  readonly kind: KindName
  readonly model: string | null
  readonly shots: number
  readonly depthHint: number
  readonly regions: readonly string[] | null
  /** Equal for equal shapes of one kind. */
  readonly key: string
}

export function shapeOf(kind: KindName, demand: Demand, regions: readonly string[] | null): Shape {
  const { model, shots, depthHint } = demand
  const plain = regions === null && shots === 0 && depthHint === 0
  // The first letter keeps a model that looks like JSON apart from a shape written as JSON.
  const key = plain ? `m${model ?? ''}` : `j${JSON.stringify([model, shots, depthHint, regions])}`
  return { kind, model, shots, depthHint, regions, key }
}

/** What the queue knows of a job. */
export interface QueuedJob extends Scored, HeapItem {
  readonly id: JobId
  readonly caller: Caller
  readonly enqueueTs: number
  /** Number of acceptance; jobs of one block share one (ORDER-3). */
  readonly enqueueSeq: number
  /** Estimated units. */
  readonly units: number
  /** Providers that may not take this job, each until its time; null is none. */
  readonly denials: ReadonlyMap<ProviderId, number> | null
  /** Interned by the queue, so that alike jobs share one object. */
  shape: Shape
  /** Kept by the queue: the part of the score that does not change with time. */
  staticScore: number
  /** Not to be taken before this time; null is at once. */
  notBefore: number | null
}

/** The heaps that a job can be inside, each with two bits of `places`. */
export const PLACE = {
  groupYoung: 0,
  groupAged: 1,
  groupWait: 2,
  laneYoung: 3,
  laneAged: 4,
  laneWait: 5,
  crossing: 6,
  delayed: 7,
  ttlAbs: 8,
  ttlRel: 9,
  proof: 10,
  gc: 11,
} as const

/** `enqueue_ts ASC, enqueue_seq ASC, job_id ASC`: the order of equal scores (ORDER-3). */
export function enqueuedBefore(a: QueuedJob, b: QueuedJob): boolean {
  if (a.enqueueTs !== b.enqueueTs) return a.enqueueTs < b.enqueueTs
  if (a.enqueueSeq !== b.enqueueSeq) return a.enqueueSeq < b.enqueueSeq
  return a.id < b.id
}

export function idBefore(a: { readonly id: string }, b: { readonly id: string }): boolean {
  return a.id < b.id
}
