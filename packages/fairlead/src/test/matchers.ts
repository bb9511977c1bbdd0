import type { JobStatus, WaitReason } from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import { Job } from '../queue/job.ts'
import { Queue } from '../queue/queue.ts'

/** What Vitest and Jest give to a matcher, as far as it is used here. */
interface MatcherContext {
  readonly isNot?: boolean
  readonly equals: (a: unknown, b: unknown, testers?: never[]) => boolean
  readonly utils: {
    readonly stringify?: (value: unknown) => string
    readonly printReceived: (value: unknown) => string
    readonly printExpected: (value: unknown) => string
    readonly subsetEquality?: unknown
    readonly iterableEquality?: unknown
  }
}

interface Verdict {
  readonly pass: boolean
  readonly message: () => string
}

/** The types of the matchers, for `interface Matchers<T> extends QueueMatchers {}` of Vitest or Jest. */
export interface QueueMatchers<Answer = Promise<void>> {
  /** A job of this name was added, with data that has at least these fields. */
  toHaveAdded(name: string, data?: unknown): Answer
  /** So many jobs of this name were added. */
  toHaveAddedTimes(name: string, times: number): Answer
  /** It is COMPLETED, with this result if one is given. */
  toHaveCompleted(result?: unknown): Answer
  /** It is FAILED, with this code of its last attempt if one is given. */
  toHaveFailed(code?: string): Answer
  /** It waits, for this reason if one is given. */
  toBeWaiting(reason?: WaitReason): Answer
}

/** For `expect.extend(queueMatchers)` of Vitest or Jest. All of them are awaited: they ask the queue. */
export const queueMatchers = {
  async toHaveAdded(
    this: MatcherContext,
    queue: unknown,
    name: string,
    data?: unknown,
  ): Promise<Verdict> {
    const found: unknown[] = []
    for (const job of await jobsOf(queue, name)) found.push((await job.refresh()).data)
    const { printExpected, printReceived } = this.utils
    const pass =
      data === undefined ? found.length > 0 : found.some((each) => fits(this, each, data))
    const wanted = data === undefined ? '' : ` with ${printExpected(data)}`
    const seen = found.length === 0 ? 'none was' : `the queue has ${printReceived(found)}`
    return verdict(this, pass, `a job ${printExpected(name)} to have been added${wanted}`, seen)
  },

  async toHaveAddedTimes(
    this: MatcherContext,
    queue: unknown,
    name: string,
    times: number,
  ): Promise<Verdict> {
    const { length } = await jobsOf(queue, name)
    const { printExpected, printReceived } = this.utils
    const what = `${printExpected(times)} jobs ${printExpected(name)} to have been added`
    return verdict(this, length === times, what, `there are ${printReceived(length)}`)
  },

  async toHaveCompleted(
    this: MatcherContext,
    given: unknown,
    ...expected: [unknown?]
  ): Promise<Verdict> {
    const job = await looked(given)
    const { printExpected, printReceived } = this.utils
    if (job.status !== 'COMPLETED' || expected.length === 0) {
      return hasStatus(this, job, 'COMPLETED')
    }
    const result = await job.result()
    const what = `${nameOf(job)} to have completed with ${printExpected(expected[0])}`
    return verdict(
      this,
      fits(this, result, expected[0]),
      what,
      `its result is ${printReceived(result)}`,
    )
  },

  async toHaveFailed(this: MatcherContext, given: unknown, code?: string): Promise<Verdict> {
    const job = await looked(given)
    if (job.status !== 'FAILED' || code === undefined) return hasStatus(this, job, 'FAILED')
    const { printExpected, printReceived } = this.utils
    const what = `${nameOf(job)} to have failed with the code ${printExpected(code)}`
    return verdict(this, job.error?.code === code, what, `it is ${printReceived(job.error?.code)}`)
  },

  async toBeWaiting(this: MatcherContext, given: unknown, reason?: WaitReason): Promise<Verdict> {
    const job = await looked(given)
    if (job.status !== 'QUEUED' || reason === undefined) return hasStatus(this, job, 'QUEUED')
    const { printExpected, printReceived } = this.utils
    const what = `${nameOf(job)} to wait for the reason ${printExpected(reason)}`
    return verdict(this, job.waitReason === reason, what, `it is ${printReceived(job.waitReason)}`)
  },
}

function hasStatus(context: MatcherContext, job: Job, status: JobStatus): Verdict {
  const { printExpected, printReceived } = context.utils
  const error = job.error === null ? '' : `, ${job.error.code}: ${job.error.message}`
  const what = `${nameOf(job)} to be ${printExpected(status)}`
  return verdict(context, job.status === status, what, `it is ${printReceived(job.status)}${error}`)
}

function verdict({ isNot }: MatcherContext, pass: boolean, what: string, seen: string): Verdict {
  return {
    pass,
    message: () => `expected ${what}${isNot === true ? ', and it should not' : ''}; ${seen}`,
  }
}

/** At least what is expected, as with `toMatchObject`. */
function fits({ equals, utils }: MatcherContext, actual: unknown, expected: unknown): boolean {
  const testers = [utils.iterableEquality, utils.subsetEquality].filter(
    (each) => each !== undefined,
  )
  return equals(actual, expected, testers as never[])
}

async function jobsOf(queue: unknown, name: string): Promise<Job[]> {
  if (!(queue instanceof Queue)) throw invalidParams('expect', 'a queue')
  const jobs: Job[] = []
  for await (const job of (queue as Queue).find({ name })) jobs.push(job)
  return jobs
}

async function looked(job: unknown): Promise<Job> {
  if (!(job instanceof Job)) throw invalidParams('expect', 'a job')
  return job.refresh()
}

function nameOf(job: Job): string {
  return `${job.name} ${job.id.slice(0, 12)}`
}
