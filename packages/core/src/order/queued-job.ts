import type { HeapItem } from '../collections/lazy-heap.ts'
import type { Caller, JobId, ProviderId } from '../encoding/ids.ts'
import type { Demand, KindName } from '../enqueue/kinds.ts'
import type { JobNeeds } from '../market/job.ts'
import type { Policy } from '../policy/policy.ts'
import type { Scored } from './score.ts'

/**
 * Who asks, and for what: all that a job has in common with those of the same group. What matching
 * looks at beside it are a job's units and denials, so what refuses one of a group refuses all of it
 * but for these (MATCH-2).
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
  /** Equal for all that ask a provider of one kind for the same, whoever they are. */
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

/** The last one that was made: jobs that are alike mostly come one after the other. */
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
  // The letter keeps a model that looks like JSON apart; the length says where the tier ends.
  const demandKey = isPlain ? `m${model}` : `j${JSON.stringify(asked)}`
  const key = `${tier.length}:${tier}${demandKey}`
  return { caller, tier, kind, model, shots, depthHint, regions, needs, demandKey, key }
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
  /** The most tokens that it can take; 0 where it takes none. */
  readonly tokens: number
  /** Providers that may not take this job, each until its time; null is none. */
  readonly denials: ReadonlyMap<ProviderId, number> | null
  /** Interned by the queue, so that alike jobs share one object. */
  shape: Shape
  /** Kept by the queue: the part of the score that does not change with time. */
  staticScore: number
  /** Not to be taken before this time; null is at once. */
  notBefore: number | null
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
  proof: 9,
  waiting: 10,
} as const

/** A bit of `heapBits` behind those of the heaps: the job is in its queue, or in a batch of it. */
export const WAITING = 1 << 24

type Before = (a: QueuedJob, b: QueuedJob) => boolean

/**
 * The order of equal scores: `enqueue_ts ASC, enqueue_seq ASC, job_id ASC`. Where the seed decides between
 * jobs of equal score and time, `enqueue_seq` does not count (ORDER-3).
 */
export const ENQUEUED_BEFORE: { readonly [T in Policy['match']['ties']]: Before } = {
  arrival: (a, b) => {
    if (a.enqueueTs !== b.enqueueTs) return a.enqueueTs < b.enqueueTs
    if (a.enqueueSeq !== b.enqueueSeq) return a.enqueueSeq < b.enqueueSeq
    return a.id < b.id
  },
  pair_hash: (a, b) => (a.enqueueTs === b.enqueueTs ? a.id < b.id : a.enqueueTs < b.enqueueTs),
}

export function idBefore(a: { readonly id: string }, b: { readonly id: string }): boolean {
  return a.id < b.id
}
