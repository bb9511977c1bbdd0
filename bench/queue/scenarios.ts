import { setTimeout as pause } from 'node:timers/promises'
import { heapBytes } from '../bench.ts'
import { CpuMeter } from './cpu.ts'
import type { Subject, Work } from './subject.ts'

/** What one run of a scenario gives: figures by name. */
export type Figures = Readonly<Record<string, number>>

/** What a scenario is run with. */
export interface Sizes {
  readonly jobs: number
  readonly seconds: number
  /** Jobs that a backlog is drained by. */
  readonly drained: number
}

export type Scenario = (subject: Subject, sizes: Sizes) => Promise<Figures>

/** A load is made of batches of this size. */
const BATCH = 1_000
/** Enqueues under way at once where there are many. */
const IN_FLIGHT = 100
export const LATENCY_EVERY_MS = 10
/** Of the latencies these first ones do not count. They come faster: code that runs once a job is compiled late. */
const LATENCY_WARM_UP = 6_000
const LATENCY_WARM_UP_EVERY_MS = 1
/** What goes through before anything is measured, so that code is compiled and caches are filled. */
const WARM_UP_JOBS = 10_000
const WARM_UP_SECONDS = 2

/** Every scenario, by the name that `child.ts` is given. */
export const SCENARIOS = {
  'enqueue-1': (subject, sizes) => enqueueInFlight(subject, sizes, 1),
  'enqueue-100': (subject, sizes) => enqueueInFlight(subject, sizes, IN_FLIGHT),
  'enqueue-keyed': enqueueKeyed,
  'enqueue-batch': enqueueBatches,
  drain,
  steady,
  latency,
  backlog,
  'late-tenant': lateTenant,
  'many-tenants': manyTenants,
} as const satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof SCENARIOS

/** Runs jobs through as the scenarios do, many at once and from a backlog, alike with every subject. */
export async function warmUp(subject: Subject): Promise<void> {
  const done = new Countdown(Number.POSITIVE_INFINITY)
  const stop = await subject.work({ load: 'flow', asking() {}, completed: done.take })
  done.setGoal(await enqueueFor(subject.enqueue, { seconds: WARM_UP_SECONDS, inFlight: IN_FLIGHT }))
  await done.reached
  await stop()
  await load(subject, WARM_UP_JOBS)
  await drainMs(subject, WARM_UP_JOBS)
  // What is measured begins at rest.
  await subject.afterLoad?.()
}

async function enqueueInFlight(
  subject: Subject,
  { seconds }: Sizes,
  inFlight: number,
): Promise<Figures> {
  const cpu = new CpuMeter()
  const started = performance.now()
  const jobs = await enqueueFor(subject.enqueue, { seconds, inFlight })
  return { rate: (1_000 * jobs) / (performance.now() - started), ...cpu.perJob(jobs) }
}

/** As an SDK sends them. */
async function enqueueKeyed(
  { enqueueKeyed: enqueue }: Subject,
  { seconds }: Sizes,
): Promise<Figures> {
  if (enqueue === undefined) return {}
  const cpu = new CpuMeter()
  const started = performance.now()
  const jobs = await enqueueFor(enqueue, { seconds, inFlight: IN_FLIGHT })
  return { rate: (1_000 * jobs) / (performance.now() - started), ...cpu.perJob(jobs) }
}

/** One batch after the other: each caller knows that its batch was taken before it sends the next. */
async function enqueueBatches(subject: Subject, { seconds }: Sizes): Promise<Figures> {
  const started = performance.now()
  let jobs = 0
  for (; performance.now() - started < 1_000 * seconds; jobs += BATCH) {
    await subject.enqueueBatch(jobs, BATCH)
  }
  return { rate: (1_000 * jobs) / (performance.now() - started) }
}

async function drain(subject: Subject, { jobs }: Sizes): Promise<Figures> {
  await load(subject, jobs)
  const cpu = new CpuMeter()
  const ms = await drainMs(subject, jobs)
  return { rate: (1_000 * jobs) / ms, ...cpu.perJob(jobs) }
}

/**
 * The time counts until the last job is over. What a subject puts off for longer than that, as Fairlead does with its tables and
 * Redis with its snapshots, shows with more seconds.
 */
async function steady(subject: Subject, { seconds }: Sizes): Promise<Figures> {
  const done = new Countdown(Number.POSITIVE_INFINITY)
  const stop = await subject.work({ load: 'flow', asking() {}, completed: done.take })
  const cpu = new CpuMeter()
  const started = performance.now()
  const jobs = await enqueueFor(subject.enqueue, { seconds, inFlight: IN_FLIGHT })
  done.setGoal(jobs)
  await done.reached
  const rate = (1_000 * jobs) / (performance.now() - started)
  const spent = cpu.perJob(jobs)
  await stop()
  return { rate, ...spent }
}

/** From the call that enqueues to the start of the handler. */
async function latency(subject: Subject, { seconds }: Sizes): Promise<Figures> {
  const jobs = Math.ceil((1_000 * seconds) / LATENCY_EVERY_MS) + LATENCY_WARM_UP
  const sentAt = new Float64Array(jobs)
  const waitedMs = new Float64Array(jobs)
  const done = new Countdown(jobs)
  const warmedUp = new Countdown(LATENCY_WARM_UP)
  const stop = await subject.work({
    load: 'trickle',
    asking() {},
    started: (number) => {
      const at = performance.now()
      const n = number()
      waitedMs[n] = at - (sentAt[n] as number)
    },
    completed: (count) => {
      warmedUp.take(count)
      done.take(count)
    },
  })
  // Until the workers have settled down to waiting.
  await pause(200)
  let next = performance.now()
  const calls: Promise<unknown>[] = []
  for (let n = 0; n < jobs; n++) {
    if (n === LATENCY_WARM_UP) {
      // Not every subject keeps up with the warm-up.
      await warmedUp.reached
      next = performance.now() + LATENCY_EVERY_MS
    }
    const wait = next - performance.now()
    if (wait > 0) await pause(wait)
    next += n < LATENCY_WARM_UP ? LATENCY_WARM_UP_EVERY_MS : LATENCY_EVERY_MS
    sentAt[n] = performance.now()
    calls.push(subject.enqueue(n))
  }
  await Promise.all(calls)
  await done.reached
  await stop()
  return percentiles(waitedMs.subarray(LATENCY_WARM_UP))
}

export function percentiles(values: Float64Array): Figures {
  const sorted = values.toSorted()
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) }
}

/**
 * How fast the first of many waiting jobs go, and what the waiting ones cost. A small backlog is made
 * and drained several times, so that as many jobs are measured as with a large one. Memory comes last: after
 * collections by force V8 takes a heap for full, and would mark all of it in the middle of the drain.
 */
async function backlog(subject: Subject, { jobs, drained }: Sizes): Promise<Figures> {
  const before = heapBytes()
  const rssBefore = process.memoryUsage().rss
  let ms = 0
  let done = 0
  let waiting = 0
  while (done < drained) {
    await load(subject, jobs - waiting)
    const count = Math.min(jobs, drained - done)
    ms += await drainMs(subject, count)
    done += count
    waiting = jobs - count
  }
  await load(subject, jobs - waiting)
  return {
    rate: (1_000 * done) / ms,
    heapPerJob: (heapBytes() - before) / jobs,
    rss: process.memoryUsage().rss,
    rssPerJob: (process.memoryUsage().rss - rssBefore) / jobs,
    ...(subject.serverBytes === undefined ? {} : { server: await subject.serverBytes() }),
  }
}

const BIG_TENANT = 5_000
const LATE_TENANT = 100
/** As few as can do the work, so that nobody has much under way when the late one comes. */
const FEW_SLOTS = 16
/** Of the big tenant's jobs, so many are over when the late one comes: just enough to be in full swing. */
const HEAD_START = 50

/**
 * FAIR-1: one tenant has many jobs waiting, another comes later with a few. `servedMeanwhile` is the
 * share of the big one's jobs that began between the arrival of the late one and its last start.
 */
async function lateTenant(subject: Subject): Promise<Figures> {
  for (let n = 0; n < BIG_TENANT; n += BATCH) await subject.enqueueBatch(n, BATCH, 'big')
  await subject.afterLoad?.()
  const all = new Countdown(BIG_TENANT + LATE_TENANT)
  const ahead = new Countdown(HEAD_START)
  let bigStarted = 0
  let lateStarted = 0
  let bigAtArrival = 0
  let bigMeanwhile = 0
  let began = performance.now()
  const stop = await subject.work({
    load: 'backlog',
    slots: FEW_SLOTS,
    asking: () => {
      began = performance.now()
    },
    started: (number) => {
      if (number() < BIG_TENANT) bigStarted++
      else if (++lateStarted === LATE_TENANT) bigMeanwhile = bigStarted - bigAtArrival
    },
    completed: (count) => {
      ahead.take(count)
      all.take(count)
    },
  })
  await ahead.reached
  bigAtArrival = bigStarted
  await subject.enqueueBatch(BIG_TENANT, LATE_TENANT, 'late')
  await all.reached
  const seconds = (performance.now() - began) / 1_000
  await stop()
  return { servedMeanwhile: bigMeanwhile / BIG_TENANT, seconds }
}

const MANY_TENANTS = 1_000
/** Tenants that enqueue at the same time. */
const AT_ONCE = 20

/** The jobs come from many tenants, each with its own batch, and are then worked on. */
async function manyTenants(subject: Subject, { jobs }: Sizes): Promise<Figures> {
  const share = Math.ceil(jobs / MANY_TENANTS)
  const began = performance.now()
  for (let tenant = 0; tenant < MANY_TENANTS; tenant += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) =>
        subject.enqueueBatch((tenant + i) * share, share, `tenant-${tenant + i}`),
      ),
    )
  }
  const enqueueMs = performance.now() - began
  const total = share * MANY_TENANTS
  const ms = enqueueMs + (await drainMs(subject, total))
  return { rate: (1_000 * total) / ms, enqueue: (1_000 * total) / enqueueMs }
}

/** Enqueues one by one for a while, so many at once; gives how many it were. */
async function enqueueFor(
  enqueue: Subject['enqueue'],
  { seconds, inFlight }: { readonly seconds: number; readonly inFlight: number },
): Promise<number> {
  const until = performance.now() + 1_000 * seconds
  let next = 0
  const callers = Array.from({ length: inFlight }, async () => {
    while (performance.now() < until) await enqueue(next++)
  })
  await Promise.all(callers)
  return next
}

async function load(subject: Subject, jobs: number): Promise<void> {
  for (let n = 0; n < jobs; n += BATCH) await subject.enqueueBatch(n, Math.min(BATCH, jobs - n))
  await subject.afterLoad?.()
}

/** From the first question for work to the completion of so many jobs. */
async function drainMs(subject: Subject, jobs: number): Promise<number> {
  const done = new Countdown(jobs)
  let began = performance.now()
  const work: Work = {
    load: 'backlog',
    asking: () => {
      began = performance.now()
    },
    completed: done.take,
  }
  const stop = await subject.work(work)
  await done.reached
  const ms = performance.now() - began
  await stop()
  return ms
}

function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Without a completion for so long a subject is stuck. */
const STALL_MS = 60_000

/** Resolves `reached` when as many have been taken as were meant to be; rejects it when nothing moves. */
class Countdown {
  readonly reached: Promise<void>
  #goal: number
  #taken = 0
  #resolve: () => void = () => {}

  constructor(goal: number) {
    this.#goal = goal
    this.reached = new Promise((resolve, reject) => {
      let seen = 0
      const watch = setInterval(() => {
        const stalled = `stuck at ${this.#taken} of ${this.#goal} jobs for ${STALL_MS / 1_000} s`
        if (this.#taken === seen) reject(new Error(stalled))
        seen = this.#taken
      }, STALL_MS)
      this.#resolve = () => {
        clearInterval(watch)
        resolve()
      }
    })
  }

  readonly take = (count: number): void => {
    this.#taken += count
    if (this.#taken >= this.#goal) this.#resolve()
  }

  setGoal(goal: number): void {
    this.#goal = goal
    this.take(0)
  }
}
