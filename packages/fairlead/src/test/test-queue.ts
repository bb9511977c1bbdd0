import { FairleadError } from '@fairlead/core'
import { openMemoryPort } from '../queue/local-port.ts'
import type { QueueOptions } from '../queue/open-queue.ts'
import { Queue, type QueueParts } from '../queue/queue.ts'
import type { RunningJob } from '../queue/running-job.ts'
import type { AnyTasks, NameIn, SchemasByName } from '../queue/tasks.ts'
import { type Duration, msOf } from '../queue/time.ts'
import { ManualClock } from './manual-clock.ts'

export interface TestQueueOptions extends Pick<QueueOptions, 'defaults' | 'onError'> {
  /** The time at the start; that of this moment if left out. */
  readonly now?: Date
}

/** Opens a queue in memory whose time stands still until the test moves it. */
export function openTestQueue<const Schemas extends SchemasByName>(
  options: TestQueueOptions & { readonly tasks: Schemas },
): Promise<TestQueue<Schemas>>
export function openTestQueue<Tasks = AnyTasks>(
  options?: TestQueueOptions,
): Promise<TestQueue<Tasks>>
export async function openTestQueue(
  options: TestQueueOptions & { readonly tasks?: SchemasByName } = {},
): Promise<TestQueue<never>> {
  const { defaults = {}, tasks = {}, onError = () => {}, now = new Date() } = options
  const clock = new ManualClock(now.getTime())
  const attempts = new Attempts()
  const port = await openMemoryPort(clock)
  const parts = { port, schemas: tasks, defaults, onError, intercept: attempts.intercept }
  return new TestQueue<never>(parts, clock, attempts)
}

/** Rounds of `drain` in which nothing changes before it gives up. */
const IDLE_ROUNDS = 20
/** Times that `drain` moves the clock: a job that adds itself again would keep it for ever. */
const MOVES_MAX = 100_000

/** A queue for tests. What a handler throws is kept with its job, and told nowhere else. */
export class TestQueue<Tasks = AnyTasks> extends Queue<Tasks> {
  readonly #clock: ManualClock
  readonly #attempts: Attempts

  constructor(parts: QueueParts, clock: ManualClock, attempts: Attempts) {
    super(parts)
    this.#clock = clock
    this.#attempts = attempts
  }

  /** What time it is for the queue. */
  get now(): Date {
    return new Date(this.#clock.now())
  }

  /**
   * Moves the time on: delays, backoffs, timeouts and schedules fall due in their order. It waits for nothing outside of
   * the queue, so a handler may still run when it returns.
   */
  async advance(by: Duration): Promise<void> {
    await this.#clock.moveTo(this.#clock.now() + msOf('by', by))
  }

  /**
   * Lets all jobs be done that can be: waits for handlers, and moves the time on over delays and backoffs (not with
   * `delayed: false`). Jobs without a handler, paused ones, and times of schedules stay.
   */
  async drain({ delayed = true }: { readonly delayed?: boolean } = {}): Promise<void> {
    let idle = 0
    for (let moves = 0; moves < MOVES_MAX; ) {
      await this.#clock.settle()
      if (this.#attempts.areRunning) {
        await this.#attempts.nextEnd()
        idle = 0
      } else if ((await this.#areUnderWay()) && idle < IDLE_ROUNDS) idle++
      else {
        const at = delayed ? await this.#nextReady() : null
        if (at === null) return
        await this.#clock.moveTo(at)
        idle = 0
        moves++
      }
    }
    throw new FairleadError(
      'LimitExceeded',
      `drain: jobs are still added after ${MOVES_MAX} waits; use advance to move the time as far as the test needs`,
      { limit: 'moves', max: MOVES_MAX },
    )
  }

  /** The next attempts of a task fail with this error, without its handler. */
  failNext(name: NameIn<Tasks>, error: unknown = new Error('failNext'), times = 1): void {
    for (let i = 0; i < times; i++) this.#attempts.plan(name, error)
  }

  /** Between the queue and a handler, or on the way back. */
  async #areUnderWay(): Promise<boolean> {
    const filters = [
      { status: 'ASSIGNED' },
      { status: 'RUNNING' },
      { waitReason: 'ready' },
    ] as const
    for (const filter of filters) for await (const _job of this.find(filter)) return true
    return false
  }

  /** The first time at which a job is ready that waits for one. */
  async #nextReady(): Promise<number | null> {
    let first: number | null = null
    for (const waitReason of ['scheduled', 'backoff'] as const) {
      for await (const { readyAt } of this.find({ waitReason })) {
        if (readyAt !== null) first = Math.min(first ?? Number.POSITIVE_INFINITY, readyAt.getTime())
      }
    }
    return first
  }
}

/** The attempts that run, and those that are to fail. */
class Attempts {
  readonly #running = new Set<Promise<unknown>>()
  readonly #planned: { readonly name: string; readonly error: unknown }[] = []

  get areRunning(): boolean {
    return this.#running.size > 0
  }

  plan(name: string, error: unknown): void {
    this.#planned.push({ name, error })
  }

  readonly intercept = (job: RunningJob, run: () => Promise<unknown>): Promise<unknown> => {
    const planned = this.#planned.findIndex(({ name }) => name === job.name)
    const [failure] = planned < 0 ? [] : this.#planned.splice(planned, 1)
    if (failure !== undefined) return Promise.reject(failure.error)
    const running = run()
    this.#running.add(running)
    const forget = (): void => void this.#running.delete(running)
    running.then(forget, forget)
    return running
  }

  /** Resolves when one of them has ended. */
  async nextEnd(): Promise<void> {
    await Promise.race([...this.#running].map((running) => running.catch(() => undefined)))
  }
}
