import { LazyHeap } from '../collections/lazy-heap.ts'
import { TransitMap } from '../collections/transit-map.ts'
import type { Caller, JobId } from '../encoding/ids.ts'
import { invariant } from '../errors.ts'
import { priorityOf } from '../options/terms.ts'
import type { Policy } from '../policy/policy.ts'
import { FairShares, type FairState, type Share, virtualCost, weightOf } from './fair-shares.ts'
import { NameCounts } from './name-counts.ts'
import { HEAP_BITS, HELD, idBefore, type QueuedJob, WAITING } from './queued-job.ts'
import { staticScore } from './score.ts'
import {
  type Group,
  type ReadyCaller,
  type ReadyGroup,
  readyGroup,
  ScoreClock,
  ScoreQueue,
} from './score-queue.ts'

/**
 * The verdict of a round on a job that the queue offers for its batch. The round takes the job or passes over it.
 * It may also pass over all of its group that need as many units or more, or over the whole group.
 */
export type Verdict = 'take' | 'pass-job' | 'pass-size' | 'pass-group'

/** The jobs that a round looks at, in order. They are out of the queue until `closeBatch`. */
export interface Batch {
  readonly jobs: readonly QueuedJob[]
  /** The jobs that are in the batch because they waited longest (ORDER-5). */
  readonly picks: ReadonlySet<JobId>
}

/** The callers with ready jobs, and how many they are. */
export interface ReadyCallers {
  readonly size: number
  readonly all: () => Iterable<ReadyCaller>
}

export type { ReadyCaller, ReadyGroup } from './score-queue.ts'

/** The state that a restart needs beside the jobs themselves. */
export interface QueueState {
  readonly grants: number
  readonly fair: FairState
}

/**
 * The waiting jobs of one kind, ready or not yet. A round takes the ready ones by score (ORDER-3, ORDER-5), or
 * by fair shares of the callers (FAIR-1).
 */
export class WaitingQueue {
  #size = 0
  /** Jobs that wait for other jobs to end. They are in no heap. */
  #held = 0
  /** All waiting jobs, and those of them that are not ready, by the name that they ask for. They influence no decision. */
  readonly #named = new NameCounts()
  readonly #notReady = new NameCounts()
  readonly #delayed = new LazyHeap<QueuedJob>({
    bitPair: HEAP_BITS.delayed,
    keyOf: (job) => job.startsAt ?? 0,
    before: idBefore,
  })
  /**
   * The jobs that were ready once, in the order of that time, for `oldestTs`. It influences no decision. A job that has
   * not come to its time is in `#delayed` alone.
   */
  readonly #waiting = new LazyHeap<QueuedJob>({
    bitPair: HEAP_BITS.waiting,
    keyOf: (job) => job.readyTs,
    before: idBefore,
  })
  #policy: Policy
  #clock: ScoreClock
  #grants: number
  #shares: FairShares
  /**
   * Under `score` one queue, with the key null. Under fair shares one for each caller with a ready job, or a
   * chain of them, the highest priority first.
   */
  readonly #queues = new TransitMap<Caller | null, ScoreQueue>()

  constructor(policy: Policy, nowMs: number, state?: QueueState) {
    this.#policy = policy
    this.#clock = new ScoreClock(policy.priority, nowMs)
    this.#grants = state?.grants ?? 0
    this.#shares = new FairShares(state?.fair)
  }

  /** The number of all waiting jobs, including those in backoff, before their time or behind other jobs. */
  get size(): number {
    return this.#size
  }

  /** Since when the job has been ready that has waited longest, in backoff or not; null if none waits. */
  get oldestTs(): number | null {
    return this.#waiting.top()?.readyTs ?? null
  }

  get readySize(): number {
    return this.#size - this.#delayed.size - this.#held
  }

  /** The number of jobs that wait for other jobs to end. */
  get heldSize(): number {
    return this.#held
  }

  /** The number of jobs in backoff or before their time. */
  get delayedSize(): number {
    return this.#delayed.size
  }

  /** The jobs in backoff or before their time, in no order. */
  delayed(): Iterable<QueuedJob> {
    return this.#delayed
  }

  /** The waiting jobs by the model or task that they name, null for none. Some counts may be 0. */
  *named(): IterableIterator<{
    readonly name: string | null
    readonly waiting: number
    readonly ready: number
  }> {
    for (const [name, waiting] of this.#named.counts) {
      yield { name, waiting, ready: waiting - this.#notReady.of(name) }
    }
  }

  /** The callers with ready jobs. */
  readyCallers(): ReadyCallers {
    if (this.#policy.match.fairness === 'score') {
      const queue = this.#queues.get(null)
      return { size: queue?.callers ?? 0, all: () => queue?.byCaller() ?? [] }
    }
    return { size: this.#queues.size, all: () => this.#byCaller() }
  }

  /**
   * The ready jobs by group, of one caller or of all: how many there are, and the one that goes first.
   */
  *readyGroups(caller: Caller | null = null): IterableIterator<ReadyGroup> {
    for (const queue of caller === null ? this.#allQueues() : this.#queuesOf(caller)) {
      for (const { group, jobs } of queue.groups(caller)) {
        const ready = readyGroup(group, jobs)
        if (ready !== null) yield ready
      }
    }
  }

  *#byCaller(): IterableIterator<ReadyCaller> {
    for (const [caller, first] of this.#queues) {
      if (caller === null) continue
      let jobs = 0
      for (let queue: ScoreQueue | null = first; queue !== null; queue = queue.below) {
        jobs += queue.size
      }
      yield { caller, jobs, groups: () => groupsFrom(first, caller) }
    }
  }

  /** The jobs of one caller or of all that are ready at a time, in no order. Nothing moves for a look at them. */
  *readyAt(nowMs: number, caller: Caller | null): IterableIterator<QueuedJob> {
    yield* this.#ready(caller)
    for (const job of this.#delayed.upTo(nowMs)) {
      if (caller === null || job.caller === caller) yield job
    }
  }

  *#ready(caller: Caller | null = null): IterableIterator<QueuedJob> {
    for (const queue of caller === null ? this.#allQueues() : this.#queuesOf(caller)) {
      for (const { group } of queue.groups(caller)) {
        yield* group.young
        yield* group.aged
      }
    }
  }

  /** What fair shares know of the callers; empty under `score`. */
  shares(): Iterable<Share> {
    return this.#shares.all()
  }

  state(): QueueState {
    return { grants: this.#grants, fair: this.#shares.state() }
  }

  /** The number of grants, and the virtual time of the shares. */
  counters(): { readonly grants: number; readonly virtual: bigint } {
    return { grants: this.#grants, virtual: this.#shares.virtual }
  }

  /** Takes the finish times of callers that changed since the last call; null for one that is forgotten. */
  takeShareChanges(): Map<Caller, bigint | null> {
    return this.#shares.takeChanged()
  }

  has(job: QueuedJob): boolean {
    return (job.heapBits & WAITING) !== 0
  }

  /**
   * Adds a waiting job. A job in backoff, or before its time, becomes ready at its `startsAt`, at the place that its
   * score gives it. A job that waits for others becomes ready with `release`.
   */
  push(job: QueuedJob): void {
    invariant(!this.has(job), 'a job waits in one place only')
    job.staticScore = staticScore(job, this.#policy.priority)
    job.heapBits |= WAITING
    this.#size++
    this.#named.add(job, 1)
    if (job.waitsFor > 0) {
      job.heapBits |= HELD
      this.#held++
      this.#notReady.add(job, 1)
      return
    }
    if (job.notBefore !== null) this.#waiting.enter(job)
    this.#restore(job)
  }

  /** The last job that this one waited for has ended. */
  release(job: QueuedJob): void {
    invariant((job.heapBits & HELD) !== 0, 'a job is released once, where it waits')
    job.heapBits &= ~HELD
    this.#held--
    this.#notReady.add(job, -1)
    job.staticScore = staticScore(job, this.#policy.priority)
    this.#restore(job)
  }

  /** False if the job was not waiting. */
  remove(job: QueuedJob): boolean {
    if (!this.#release(job)) return false
    this.#withdraw(job)
    return true
  }

  /** When the next job leaves its backoff or comes to its time, or null. */
  nextReadyAt(): number | null {
    return this.#delayed.top()?.startsAt ?? null
  }

  /** Moves the time on, never back, so that backoffs end. */
  advance(nowMs: number): void {
    if (this.#clock.advance(nowMs)) for (const queue of this.#allQueues()) queue.rekey()
    const now = this.#clock.nowMs
    for (let job = this.#delayed.top(); isDue(job, now); job = this.#delayed.top()) {
      this.#delayed.pop()
      this.#notReady.add(job, -1)
      this.#enterReady(job)
    }
  }

  /** The ready job with the best score. Fair shares have no such order, so this needs fairness `score`. */
  peekBest(nowMs: number): QueuedJob | undefined {
    invariant(this.#policy.match.fairness === 'score', 'under fair shares a caller comes first')
    this.advance(nowMs)
    return this.#queues.get(null)?.best()
  }

  popBest(nowMs: number): QueuedJob | undefined {
    return this.#takeOut(this.peekBest(nowMs))
  }

  /** Takes the ready job that has waited longest. */
  popLongest(nowMs: number): QueuedJob | undefined {
    invariant(this.#policy.match.fairness === 'score', 'under fair shares a caller comes first')
    this.advance(nowMs)
    return this.#takeOut(this.#queues.get(null)?.longest())
  }

  /**
   * Takes the first `size` jobs that `verdict` takes. A job or group that is passed over keeps its place and uses
   * no room in the batch (MATCH-2).
   */
  takeBatch(nowMs: number, size: number, verdict: (job: QueuedJob) => Verdict): Batch {
    this.advance(nowMs)
    const passed = new Passed()
    const batch =
      this.#policy.match.fairness === 'score'
        ? this.#batchByScore(size, verdict, passed)
        : this.#batchByShare(size, verdict, passed)
    for (const [queue, group] of passed.groups) queue.setBlocked(group, false)
    for (const job of passed.jobs) this.#restore(job)
    return batch
  }

  /** Ends a batch. The assigned jobs, in their order, are booked for good; the other jobs go back. */
  closeBatch(batch: Batch, assigned: readonly QueuedJob[]): void {
    this.#grants += assigned.length
    for (const job of assigned) this.#release(job)
    const isAll =
      assigned.length === batch.jobs.length && assigned.every((job, i) => job === batch.jobs[i])
    if (isAll) {
      this.#shares.keepDraft()
      return
    }
    this.#shares.rollBack()
    if (this.#policy.match.fairness === 'tenant') {
      for (const job of assigned) this.#shares.book(job.caller, this.#cost(job, job.units))
    }
    const gone = new Set(assigned)
    for (const job of batch.jobs) if (!gone.has(job)) this.#restore(job)
  }

  /** A lease of the job ended: the actual units replace the estimate (FAIR-3). */
  bookActualUnits(job: QueuedJob, actualUnits: number): void {
    if (this.#policy.match.fairness !== 'tenant') return
    const estimate = this.#cost(job, job.units)
    const actual = actualUnits === job.units ? estimate : this.#cost(job, actualUnits)
    this.#shares.replaceEstimate(job.caller, actual, estimate)
  }

  /** Adopts another policy and rebuilds every key and place. */
  setPolicy(policy: Policy, nowMs: number): void {
    this.advance(nowMs)
    const jobs = [...this.#delayed, ...this.#ready()]
    for (const job of jobs) this.#withdraw(job)
    this.#policy = policy
    this.#clock = new ScoreClock(policy.priority, this.#clock.nowMs)
    this.#queues.clear()
    for (const job of jobs) {
      job.staticScore = staticScore(job, policy.priority)
      this.#restore(job)
    }
  }

  #batchByScore(size: number, verdict: (job: QueuedJob) => Verdict, passed: Passed): Batch {
    const jobs: QueuedJob[] = []
    const picks = new Set<JobId>()
    const queue = this.#queues.get(null)
    const k = this.#policy.queue.starvationK
    while (queue !== undefined && jobs.length < size) {
      const isPick = (this.#grants + jobs.length + 1) % k === 0
      const job = this.#take(queue, isPick, verdict, passed)
      if (job === undefined) break
      jobs.push(job)
      if (isPick) picks.add(job.id)
    }
    return { jobs, picks }
  }

  /** Built on a draft of the shares: only the jobs that are assigned in the end will count (FAIR-2). */
  #batchByShare(size: number, verdict: (job: QueuedJob) => Verdict, passed: Passed): Batch {
    const jobs: QueuedJob[] = []
    const without: Caller[] = []
    this.#shares.openDraft()
    while (jobs.length < size) {
      const caller = this.#shares.next()
      if (caller === undefined) break
      const queue = this.#queues.get(caller)
      const job = queue && this.#take(queue, false, verdict, passed)
      if (job === undefined) {
        // No job of this caller can go now. If it still has jobs, it is back in the choice below.
        if (queue !== undefined) without.push(caller)
        this.#shares.setWaiting(caller, false)
        continue
      }
      jobs.push(job)
      this.#shares.book(caller, this.#cost(job, job.units))
    }
    for (const caller of without) {
      if (this.#queues.has(caller)) this.#shares.setWaiting(caller, true)
    }
    return { jobs, picks: NO_PICKS }
  }

  /** The first job of a queue that the verdict takes. Jobs that are passed over are set aside. */
  #take(
    first: ScoreQueue,
    isPick: boolean,
    verdict: (job: QueuedJob) => Verdict,
    passed: Passed,
  ): QueuedJob | undefined {
    for (let queue: ScoreQueue | null = first; queue !== null; ) {
      // A queue that loses its last job leaves the chain.
      const { below }: ScoreQueue = queue
      const job = this.#takeFrom(queue, isPick, verdict, passed)
      if (job !== undefined) return job
      queue = below
    }
    return undefined
  }

  #takeFrom(
    queue: ScoreQueue,
    isPick: boolean,
    verdict: (job: QueuedJob) => Verdict,
    passed: Passed,
  ): QueuedJob | undefined {
    for (;;) {
      const job = isPick ? queue.longest() : queue.best()
      if (job === undefined) return undefined
      const says = verdict(job)
      const group = queue.groupOf(job) as Group
      if (says === 'pass-group' || (says === 'pass-size' && job.units <= group.leastUnits)) {
        queue.setBlocked(group, true)
        passed.groups.push([queue, group])
        continue
      }
      this.#withdraw(job)
      if (says === 'take') return job
      passed.jobs.push(job)
    }
  }

  #takeOut(job: QueuedJob | undefined): QueuedJob | undefined {
    if (job !== undefined) this.remove(job)
    return job
  }

  /** Ends the waiting of a job; false if it was not waiting. */
  #release(job: QueuedJob): boolean {
    if (!this.has(job)) return false
    if ((job.heapBits & HELD) !== 0) {
      this.#held--
      this.#notReady.add(job, -1)
    }
    job.heapBits &= ~(WAITING | HELD)
    this.#size--
    this.#named.add(job, -1)
    this.#waiting.leave(job)
    return true
  }

  /** The queues that may have jobs of a caller. */
  *#queuesOf(caller: Caller): IterableIterator<ScoreQueue> {
    const key = this.#policy.match.fairness === 'tenant' ? caller : null
    for (let queue = this.#queues.get(key) ?? null; queue !== null; queue = queue.below) yield queue
  }

  *#allQueues(): IterableIterator<ScoreQueue> {
    for (const first of this.#queues.values()) {
      for (let queue: ScoreQueue | null = first; queue !== null; queue = queue.below) yield queue
    }
  }

  /** Puts a job of the queue where it belongs at this time. */
  #restore(job: QueuedJob): void {
    if (isDue(job, this.#clock.nowMs)) this.#enterReady(job)
    else {
      this.#delayed.enter(job)
      this.#notReady.add(job, 1)
    }
  }

  #enterReady(job: QueuedJob): void {
    const byShare = this.#policy.match.fairness === 'tenant'
    this.#waiting.enter(job)
    this.#queueFor(byShare ? job.caller : null, this.#priorityOf(job)).push(job)
    if (byShare) this.#shares.setWaiting(job.caller, true)
  }

  #priorityOf(job: QueuedJob): number {
    return this.#policy.match.fairness === 'tenant' ? priorityOf(job, this.#policy) : 0
  }

  /** The queue of a caller and priority, which takes its place in the chain if it is new. */
  #queueFor(key: Caller | null, priority: number): ScoreQueue {
    let above: ScoreQueue | null = null
    let next = this.#queues.get(key) ?? null
    while (next !== null && next.priority > priority) {
      above = next
      next = next.below
    }
    if (next !== null && next.priority === priority) return next
    const { ties } = this.#policy.match
    const queue = new ScoreQueue(this.#clock, { ties, picksLongest: key === null, priority })
    queue.below = next
    if (above === null) this.#queues.set(key, queue)
    else above.below = queue
    return queue
  }

  #withdraw(job: QueuedJob): void {
    if (this.#delayed.has(job)) {
      this.#delayed.leave(job)
      this.#notReady.add(job, -1)
    }
    if (this.#policy.match.fairness === 'score') {
      this.#queues.get(null)?.remove(job)
      return
    }
    const priority = this.#priorityOf(job)
    let above: ScoreQueue | null = null
    let queue = this.#queues.get(job.caller) ?? null
    while (queue !== null && queue.priority > priority) {
      above = queue
      queue = queue.below
    }
    if (queue === null || queue.priority !== priority) return
    queue.remove(job)
    if (queue.size > 0) return
    if (above !== null) above.below = queue.below
    else if (queue.below !== null) this.#queues.set(job.caller, queue.below)
    else {
      this.#queues.delete(job.caller)
      this.#shares.setWaiting(job.caller, false)
    }
  }

  #cost(job: QueuedJob, units: number): bigint {
    return virtualCost(units, weightOf(job, this.#policy))
  }
}

/** The groups of a caller in a chain of queues. */
function* groupsFrom(first: ScoreQueue, caller: Caller): IterableIterator<ReadyGroup> {
  for (let queue: ScoreQueue | null = first; queue !== null; queue = queue.below) {
    yield* queue.readyGroupsOf(caller)
  }
}

class Passed {
  readonly jobs: QueuedJob[] = []
  readonly groups: (readonly [ScoreQueue, Group])[] = []
}

const NO_PICKS: ReadonlySet<JobId> = new Set()

function isDue(job: QueuedJob | undefined, nowMs: number): job is QueuedJob {
  return job !== undefined && (job.startsAt === null || job.startsAt <= nowMs)
}
