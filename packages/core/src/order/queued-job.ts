import type { HeapItem } from '../collections/lazy-heap.ts'
import type { Caller, JobId, ProviderId } from '../encoding/ids.ts'
import type { Demand, KindName } from '../enqueue/kinds.ts'
import type { JobNeeds } from '../market/job.ts'
import type { JobOptions } from '../options/job-options.ts'
import type { Policy } from '../policy/policy.ts'
import type { Scored } from './score.ts'

/**
 * The caller and the request: everything that the jobs of a group have in common. Beside it, matching reads only
 * the units and denials of a job. So apart from these, a refusal of one job of a group holds for all (MATCH-2).
 */
export interface Shape {
  readonly caller: Caller
  readonly tier: string
  readonly kind: KindName
  readonly model: string | null
  readonly shots: number
  readonly depthHint: number
  readonly regions: readonly string[] | null
  readonly needs: JobNeeds | null
  /** Equal for all jobs of a kind that ask a provider for the same, whoever the caller is. */
  readonly demandKey: string
  /** Equal for equal shapes of one caller and kind. */
  readonly key: string
}

interface Shaped {
  readonly caller: Caller
  readonly tier: string
  readonly kind: KindName
  readonly demand: Demand
  readonly regions: readonly string[] | null
  readonly needs?: JobNeeds | null
}

/** The last shape that was made, because similar jobs often come in a row. */
let last: Shape | null = null

export function shapeOf(request: Shaped): Shape {
  if (last === null || !isOfShape(request, last)) last = newShape(request)
  return last
}

function isOfShape({ caller, tier, kind, demand, regions, needs }: Shaped, shape: Shape): boolean {
  return (
    caller === shape.caller &&
    tier === shape.tier &&
    kind === shape.kind &&
    demand.model === shape.model &&
    demand.shots === shape.shots &&
    demand.depthHint === shape.depthHint &&
    regions === null &&
    shape.regions === null &&
    needs == null &&
    shape.needs === null
  )
}

function newShape(request: Shaped): Shape {
  const { caller, tier, kind, demand, regions, needs = null } = request
  const { model, shots, depthHint } = demand
  const isPlain = regions === null && needs === null && shots === 0 && depthHint === 0
  const asked = [model, shots, depthHint, regions, needs?.precision, needs?.widthHint, needs?.gates]
  // The letter marks a model that looks like JSON; the length shows where the tier ends.
  const demandKey = isPlain ? `m${model}` : `j${JSON.stringify(asked)}`
  const key = `${tier.length}:${tier}${demandKey}`
  return { caller, tier, kind, model, shots, depthHint, regions, needs, demandKey, key }
}

/** The fields of a job that the queue reads. */
export interface QueuedJob extends Scored, HeapItem {
  readonly id: JobId
  readonly caller: Caller
  /** The time from which it counts as waiting. */
  readonly readyTs: number
  /** Number of acceptance; jobs of one block share one (ORDER-3). */
  readonly enqueueSeq: number
  /** Estimated units. */
  readonly units: number
  /** The most tokens that it can use; 0 if it uses none. */
  readonly tokens: number
  /** Providers that may not take this job, each until a time; null if there are none. */
  readonly denials: ReadonlyMap<ProviderId, number> | null
  /** Interned by the queue, so that similar jobs share one object. */
  shape: Shape
  /** Kept by the queue: the part of the score that does not change with time. */
  staticScore: number
  readonly options: JobOptions | null
  /** The number of jobs that must end before this one is ready. */
  readonly waitsFor: number
  /** The end of its backoff; null outside of one. */
  readonly notBefore: number | null
  /** The job must not be taken before this time; null if it may be taken at once. */
  readonly startsAt: number | null
}

/** The heaps that a job can be inside, each with two bits of `heapBits`. */
export const HEAP_BITS = {
  groupYoung: 0,
  groupAged: 1,
  groupWait: 2,
  queueYoung: 3,
  queueAged: 4,
  queueWait: 5,
  delayed: 6,
  ttlAbs: 7,
  ttlRel: 8,
  waiting: 10,
} as const

/** A bit of `heapBits` above those of the heaps. It is set while the job is in its queue or in a batch of it. */
export const WAITING = 1 << 24
/** The next bit. It is set while the job is in its queue but waits for other jobs to end. */
export const HELD = 1 << 25

type Before = (a: QueuedJob, b: QueuedJob) => boolean

/**
 * The order of equal scores: `ready_ts ASC, enqueue_seq ASC, job_id ASC`. If the seed decides between jobs of
 * equal score and time, `enqueue_seq` does not count (ORDER-3).
 */
export const ENQUEUED_BEFORE: { readonly [T in Policy['match']['ties']]: Before } = {
  arrival: (a, b) => {
    if (a.readyTs !== b.readyTs) return a.readyTs < b.readyTs
    if (a.enqueueSeq !== b.enqueueSeq) return a.enqueueSeq < b.enqueueSeq
    return a.id < b.id
  },
  pair_hash: (a, b) => (a.readyTs === b.readyTs ? a.id < b.id : a.readyTs < b.readyTs),
}

export function idBefore(a: { readonly id: string }, b: { readonly id: string }): boolean {
  return a.id < b.id
}
