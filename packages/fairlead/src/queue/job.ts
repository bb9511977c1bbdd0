import { inspect } from 'node:util'
import type { Client } from '@fairlead/client'
import { FairleadError, hasEnded, type JobStatus, type WaitReason } from '@fairlead/core'
import type { JobRecord, JobSummary } from '@fairlead/protocol'
import { JobError } from './errors.ts'
import { fitted } from './fitted.ts'
import type { SchemaOf } from './task-worker.ts'
import { type Duration, msOf } from './time.ts'

/** What jobs ask of their queue. */
export interface JobParts {
  readonly client: Client
  readonly schemaOf: SchemaOf
}

/** How far a running job has come, as its handler said last. */
export interface Progress {
  readonly percent: number | null
  readonly message: string | null
}

export interface Failure {
  readonly code: string
  readonly message: string | null
  /** 0 is the first. */
  readonly attempt: number
  readonly at: Date
}

/** All of a job that changes. */
interface JobState {
  readonly status: JobStatus
  readonly reason: string | null
  readonly attempts: number
  readonly waitReason: WaitReason | null
  readonly progress: Progress | null
  readonly error: Failure | null
  readonly tags: readonly string[]
  readonly retryOf: string | null
  readonly readyAt: Date | null
  readonly enqueuedAt: Date | null
  readonly endedAt: Date | null
}

const ADDED: JobState = {
  status: 'QUEUED',
  reason: null,
  attempts: 0,
  waitReason: null,
  progress: null,
  error: null,
  tags: [],
  retryOf: null,
  readyAt: null,
  enqueuedAt: null,
  endedAt: null,
}

/** One job of a queue. Its fields are as of the last look: `refresh()` looks again. */
export class Job<Data = unknown, Result = unknown> {
  readonly id: string
  readonly name: string
  /** True if `add` gave a live job that had the same `dedupeKey`. The same `key` does not tell. */
  readonly isDuplicate: boolean
  readonly #parts: JobParts
  #data: Data | undefined
  #state: JobState

  constructor(
    parts: JobParts,
    own: {
      readonly id: string
      readonly name: string
      readonly data?: Data
      readonly isDuplicate?: boolean
      readonly tags?: readonly string[]
      readonly runAt?: number | null
    },
  ) {
    this.#parts = parts
    this.id = own.id
    this.name = own.name
    this.#data = own.data
    this.isDuplicate = own.isDuplicate ?? false
    const { tags = [], runAt = null } = own
    this.#state = { ...ADDED, tags, readyAt: runAt === null ? null : new Date(runAt) }
  }

  /** A job as a list or a look at it has it; a list has no data. */
  static of<Data, Result>(parts: JobParts, record: JobRecord | JobSummary): Job<Data, Result> {
    const job = new Job<Data, Result>(parts, { id: record.task_id, name: record.name ?? '' })
    job.#take(record)
    return job
  }

  /** Undefined for a job of `find` until `refresh()`. */
  get data(): Data | undefined {
    return this.#data
  }

  get status(): JobStatus {
    return this.#state.status
  }

  get isEnded(): boolean {
    return hasEnded(this.#state.status)
  }

  /** Why it ended without a result, such as `retries_exhausted`. */
  get reason(): string | null {
    return this.#state.reason
  }

  /** How many attempts have begun. */
  get attempts(): number {
    return this.#state.attempts
  }

  /** Why it waits, such as `scheduled`, `backoff` or `paused`; null if it does not, and for a job of `find`. */
  get waitReason(): WaitReason | null {
    return this.#state.waitReason
  }

  /** Of the last attempt that failed. */
  get error(): Failure | null {
    return this.#state.error
  }

  get tags(): readonly string[] {
    return this.#state.tags
  }

  /** The job that this one takes up again. */
  get retryOf(): string | null {
    return this.#state.retryOf
  }

  /**
   * Before this time it does not begin: its `runAt`, the end of its `delay`, or that of its backoff; null if it waits for none
   * of them. Of a `delay` the queue knows it, so null until `refresh()`.
   */
  get readyAt(): Date | null {
    return this.#state.readyAt
  }

  /** Null right after `add`. */
  get enqueuedAt(): Date | null {
    return this.#state.enqueuedAt
  }

  get endedAt(): Date | null {
    return this.#state.endedAt
  }

  /** Waits for the end of the job, and gives what its handler returned. A job that ended otherwise is a `JobError`. */
  async result(
    options: { readonly timeout?: Duration; readonly signal?: AbortSignal } = {},
  ): Promise<Result> {
    const { timeout, signal } = options
    const schema = this.#parts.schemaOf(this.name, 'result')
    try {
      const read = await this.#parts.client.waitForResult(this.id, {
        ...(timeout === undefined ? {} : { timeoutMs: msOf('timeout', timeout) }),
        ...(signal === undefined ? {} : { signal }),
      })
      // A job that returned nothing has no output that could fit.
      if (schema === undefined || read.output === null) return read.value as Result
      return (await fitted(schema, 'result', read.value)) as Result
    } catch (error) {
      if (!(error instanceof FairleadError) || !ENDED.has(error.code)) throw error
      await this.refresh()
      throw this.#endError(error)
    }
  }

  /** How far its handler says that it has come; null if it does not run or has said nothing. */
  async progress(): Promise<Progress | null> {
    return (await this.refresh()).#state.progress
  }

  /** Ends it, unless it has ended. Gives true if it is cancelled now; a handler that runs hears of it by its signal. */
  async cancel(): Promise<boolean> {
    try {
      await this.#parts.client.cancel(this.id)
    } catch (error) {
      if (!(error instanceof FairleadError) || error.code !== 'InvalidState') throw error
    }
    return (await this.refresh()).status === 'CANCELED'
  }

  /** Looks again. */
  async refresh(): Promise<this> {
    this.#take((await this.#parts.client.getJob(this.id)).job)
    return this
  }

  /** All that is known of it, for logs. */
  toJSON(): object {
    const { id, name, isDuplicate } = this
    return { id, name, data: this.#data, isDuplicate, ...this.#state }
  }

  [inspect.custom](): object {
    return this.toJSON()
  }

  /** The lines that its attempts logged, oldest first. */
  async logs(): Promise<
    readonly { readonly attempt: number; readonly at: Date; readonly text: string }[]
  > {
    const { attempts } = await this.#parts.client.call('aicf.getLogs', { task_id: this.id })
    return attempts.flatMap(({ attempt, lines }) =>
      lines.map(({ at, text }) => ({ attempt, at: new Date(at), text })),
    )
  }

  /** Why it waits, or went where it went, in sentences. */
  async explain(): Promise<string> {
    return (await this.#parts.client.explain(this.id)).text
  }

  #endError(cause: FairleadError): JobError {
    const { status, reason, attempts, error } = this.#state
    return new JobError(
      { jobId: this.id, taskName: this.name, status, reason, attempts, error },
      { cause },
    )
  }

  #take(record: JobRecord | JobSummary): void {
    const { status, reason, attempt, request, timestamps } = record
    const { enqueued, completed, failed, expired, canceled } = timestamps
    const ended = completed ?? failed ?? expired ?? canceled
    const whole = 'errors' in record ? record : null
    if (whole !== null) this.#data = (whole.request.payload as { args: Data }).args
    const last = whole?.last_error ?? null
    this.#state = {
      status,
      reason,
      attempts: attempt === null ? 0 : attempt + 1,
      waitReason: whole?.wait_reason ?? null,
      progress: progressOf(whole),
      error: last && { ...last, at: new Date(last.at) },
      tags: request.options?.tags ?? [],
      retryOf: request.retry_of,
      readyAt: status === 'QUEUED' ? readyAtOf(record) : null,
      enqueuedAt: new Date(enqueued * 1_000),
      endedAt: ended === null ? null : new Date(ended * 1_000),
    }
  }
}

function readyAtOf({ not_before, request }: JobRecord | JobSummary): Date | null {
  const at = Math.max(not_before ?? 0, request.options?.run_at ?? 0)
  return at === 0 ? null : new Date(at)
}

function progressOf(record: JobRecord | null): Progress | null {
  if (record?.progress == null) return null
  const { percent, message } = record.progress
  return { percent, message }
}

/** With these the server refuses the result of a job that ended without one. */
const ENDED: ReadonlySet<string> = new Set(['InvalidState', 'JobExpired'])
