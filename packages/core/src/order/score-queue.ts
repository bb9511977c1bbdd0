import { LazyHeap } from '../collections/lazy-heap.ts'
import type { Caller } from '../encoding/ids.ts'
import type { Policy } from '../policy/policy.ts'
import { ENQUEUED_BEFORE, HEAP_BITS, idBefore, type QueuedJob, type Shape } from './queued-job.ts'
import { type PriorityPolicy, scoreAt, scorePerSecond, secondOf } from './score.ts'

/** After this many seconds the base of the young keys moves, long before a key could pass 2^53. */
const BASE_SECS_MAX = 2 ** 21

/**
 * The numbers behind the keys, shared by all queues of one kind. The key of a young job is relative to a base
 * second, because the key as written in the rules exceeds 2^53 (ORDER-4).
 */
export class ScoreClock {
  readonly policy: PriorityPolicy
  readonly #horizon: number
  readonly #perSecond: number
  #base: number
  #nowMs: number

  constructor(policy: PriorityPolicy, nowMs: number) {
    this.policy = policy
    this.#horizon = policy.ageHorizonSecs
    this.#perSecond = scorePerSecond(policy)
    this.#base = secondOf(nowMs)
    this.#nowMs = nowMs
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** Moves the time on, never back. True if the base moved, and with it every young key. */
  advance(nowMs: number): boolean {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    if (Math.abs(secondOf(this.#nowMs) - this.#base) <= BASE_SECS_MAX) return false
    this.#base = secondOf(this.#nowMs)
    return true
  }

  isAged(job: QueuedJob): boolean {
    return secondOf(this.#nowMs) - secondOf(job.readyTs) >= this.#horizon
  }

  // Smaller is better, as in every heap here.
  readonly youngKey = (job: QueuedJob): number =>
    this.#perSecond * (secondOf(job.readyTs) - this.#base) - job.staticScore * this.#horizon
}

/** Jobs of one caller and one shape, in score order. */
export interface Group {
  readonly caller: Caller
  readonly shape: Shape
  readonly young: LazyHeap<QueuedJob>
  readonly aged: LazyHeap<QueuedJob>
  /** In the order of waiting; null if that order is not needed. */
  readonly wait: LazyHeap<QueuedJob> | null
  /** The job that represents the group in each of the queue's heaps. */
  youngHead: QueuedJob | undefined
  agedHead: QueuedJob | undefined
  waitHead: QueuedJob | undefined
  blocked: boolean
  /** A lower bound of the units that a job of the group needs. */
  leastUnits: number
}

/** Ready jobs that matching treats alike. */
export interface ReadyGroup {
  readonly shape: Shape
  readonly jobs: number
  /** The job of the group that goes first. */
  readonly first: QueuedJob
}

/** The ready jobs of one caller. */
export interface ReadyCaller {
  readonly caller: Caller
  /** Null: it would have to be added up. */
  readonly jobs: number | null
  readonly groups: () => Iterable<ReadyGroup>
}

/** Null for a group without jobs. */
export function readyGroup(group: Group, jobs: number): ReadyGroup | null {
  const first = group.young.top() ?? group.aged.top()
  return first === undefined ? null : { shape: group.shape, jobs, first }
}

/**
 * The score queue (ORDER-4): the best job, or the longest waiting one, of any number of groups.
 *
 * Time never changes the order of two jobs below the age horizon, nor of two jobs above it. So each group keeps
 * its young jobs by one key and its aged jobs by another, and neither key changes. Only the two heads are compared
 * when a job is asked for. The queue keeps the heads of its groups in heaps of the same kind. A group that fits no
 * provider is blocked as a whole. Its heads leave the queue's heaps, and its jobs keep their places in the group.
 *
 * A job that has crossed the horizon may stay among the young jobs for a while. There its key is that of a score
 * without the cap, which is never lower than its real score. So it cannot hide behind a worse job, and it moves
 * over when it becomes the head.
 */
export class ScoreQueue {
  /** Its rank among the queues of one caller (OPTIONS-6). */
  readonly priority: number
  /** The queue of the same caller with the next lower priority. */
  below: ScoreQueue | null = null
  readonly #clock: ScoreClock
  readonly #ties: Ties
  readonly #groups = new Map<Caller, Map<string, Group>>()
  readonly #young: LazyHeap<QueuedJob>
  readonly #aged: LazyHeap<QueuedJob>
  readonly #wait: LazyHeap<QueuedJob> | null
  #size = 0

  /** `picksLongest`: the order of waiting is kept too, for starvation picks. */
  constructor(
    clock: ScoreClock,
    {
      ties,
      picksLongest,
      priority = 0,
    }: { readonly ties: Ties; readonly picksLongest: boolean; readonly priority?: number },
  ) {
    this.priority = priority
    this.#clock = clock
    this.#ties = ties
    this.#young = youngHeap(clock, ties, HEAP_BITS.queueYoung)
    this.#aged = agedHeap(ties, HEAP_BITS.queueAged)
    this.#wait = picksLongest ? waitHeap(HEAP_BITS.queueWait) : null
  }

  get size(): number {
    return this.#size
  }

  push(job: QueuedJob): void {
    const group = this.#groupFor(job)
    job.shape = group.shape
    group.leastUnits = Math.min(group.leastUnits, job.units)
    ;(this.#clock.isAged(job) ? group.aged : group.young).enter(job)
    group.wait?.enter(job)
    this.#size++
    this.#refresh(group)
  }

  remove(job: QueuedJob): void {
    const group = this.groupOf(job)
    if (group === undefined || !(group.young.has(job) || group.aged.has(job))) return
    group.young.leave(job)
    group.aged.leave(job)
    group.wait?.leave(job)
    this.#size--
    this.#refresh(group)
    if (group.young.size + group.aged.size === 0) this.#drop(group)
  }

  /** The job with the highest score now, among the groups that are not blocked. */
  best(): QueuedJob | undefined {
    const young = this.#youngBest()
    const aged = this.#aged.top()
    if (young === undefined || aged === undefined) return young ?? aged
    const { nowMs, policy } = this.#clock
    // At equal scores the earlier job goes first, and an aged job is earlier than any young one.
    return scoreAt(aged, nowMs, policy) >= scoreAt(young, nowMs, policy) ? aged : young
  }

  /** The job that has waited longest, among the groups that are not blocked. */
  longest(): QueuedJob | undefined {
    return this.#wait?.top()
  }

  groupOf(job: QueuedJob): Group | undefined {
    return this.#groups.get(job.caller)?.get(job.shape.key)
  }

  /** Every group that has jobs, with their number; of one caller, or of all. */
  *groups(
    caller: Caller | null = null,
  ): IterableIterator<{ readonly group: Group; readonly jobs: number }> {
    const groups =
      caller === null ? this.#allGroups() : (this.#groups.get(caller)?.values() ?? NO_GROUPS)
    for (const group of groups) yield { group, jobs: group.young.size + group.aged.size }
  }

  /** The number of callers that have jobs. */
  get callers(): number {
    return this.#groups.size
  }

  readyGroupsOf(caller: Caller): Iterable<ReadyGroup> {
    return readyGroupsOf(this.#groups.get(caller)?.values() ?? NO_GROUPS)
  }

  *byCaller(): IterableIterator<ReadyCaller> {
    for (const [caller, groups] of this.#groups) {
      yield { caller, jobs: null, groups: () => readyGroupsOf(groups.values()) }
    }
  }

  /** Blocks a group, so that none of its jobs is chosen, or unblocks it. */
  setBlocked(group: Group, blocked: boolean): void {
    group.blocked = blocked
    this.#refresh(group)
  }

  /** Call this after the base of the young keys has moved. */
  rekey(): void {
    for (const group of this.#allGroups()) group.young.rebuild()
    this.#young.rebuild()
  }

  /** The best young job. Jobs that are no longer young move over on the way. */
  #youngBest(): QueuedJob | undefined {
    for (;;) {
      const job = this.#young.top()
      if (job === undefined || !this.#clock.isAged(job)) return job
      const group = this.groupOf(job) as Group
      group.young.leave(job)
      group.aged.enter(job)
      this.#refresh(group)
    }
  }

  *#allGroups(): IterableIterator<Group> {
    for (const groups of this.#groups.values()) yield* groups.values()
  }

  #groupFor(job: QueuedJob): Group {
    let groups = this.#groups.get(job.caller)
    if (groups === undefined) {
      groups = new Map()
      this.#groups.set(job.caller, groups)
    }
    let group = groups.get(job.shape.key)
    if (group === undefined) {
      group = {
        caller: job.caller,
        shape: job.shape,
        young: youngHeap(this.#clock, this.#ties, HEAP_BITS.groupYoung),
        aged: agedHeap(this.#ties, HEAP_BITS.groupAged),
        wait: this.#wait && waitHeap(HEAP_BITS.groupWait),
        youngHead: undefined,
        agedHead: undefined,
        waitHead: undefined,
        blocked: false,
        leastUnits: job.units,
      }
      groups.set(job.shape.key, group)
    }
    return group
  }

  /** Updates the jobs that represent the group after a change in it. */
  #refresh(group: Group): void {
    const out = group.blocked
    group.youngHead = replace(this.#young, group.youngHead, out ? undefined : group.young.top())
    group.agedHead = replace(this.#aged, group.agedHead, out ? undefined : group.aged.top())
    if (this.#wait === null) return
    group.waitHead = replace(this.#wait, group.waitHead, out ? undefined : group.wait?.top())
  }

  #drop(group: Group): void {
    // A job may come back to another group of this shape, so none of its records may stay behind here.
    group.young.rebuild()
    group.aged.rebuild()
    group.wait?.rebuild()
    const groups = this.#groups.get(group.caller)
    groups?.delete(group.shape.key)
    if (groups?.size === 0) this.#groups.delete(group.caller)
    if (this.#size > 0) return
    this.#young.rebuild()
    this.#aged.rebuild()
    this.#wait?.rebuild()
  }
}

const NO_GROUPS: readonly Group[] = []

function* readyGroupsOf(groups: Iterable<Group>): IterableIterator<ReadyGroup> {
  for (const group of groups) {
    const ready = readyGroup(group, group.young.size + group.aged.size)
    if (ready !== null) yield ready
  }
}

function replace(
  heads: LazyHeap<QueuedJob>,
  old: QueuedJob | undefined,
  head: QueuedJob | undefined,
): QueuedJob | undefined {
  if (old === head) return head
  if (old !== undefined) heads.leave(old)
  if (head !== undefined) heads.enter(head)
  return head
}

type Ties = Policy['match']['ties']

function youngHeap(clock: ScoreClock, ties: Ties, bitPair: number): LazyHeap<QueuedJob> {
  return new LazyHeap({ bitPair, keyOf: clock.youngKey, before: ENQUEUED_BEFORE[ties] })
}

function agedHeap(ties: Ties, bitPair: number): LazyHeap<QueuedJob> {
  return new LazyHeap({ bitPair, keyOf: agedKey, before: ENQUEUED_BEFORE[ties] })
}

function waitHeap(bitPair: number): LazyHeap<QueuedJob> {
  return new LazyHeap<QueuedJob>({ bitPair, keyOf: (job) => job.readyTs, before: idBefore })
}

function agedKey(job: QueuedJob): number {
  return -job.staticScore
}
