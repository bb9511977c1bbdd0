import {
  type AttemptLog,
  type Caller,
  type Clock,
  FairleadError,
  type JobId,
  type LeaseId,
  type ProviderId,
  type WorkerId,
} from '@fairlead/core'
import { invalidParams, type Progress, wholeNumber } from '@fairlead/core/internal'
import type { OnLease, Submission } from '../commands/command.ts'
import type { EngineLoop } from '../loop/engine-loop.ts'
import { guarded, type Unsubscribe } from '../view/subscribers.ts'
import type { LogDesk } from './log-desk.ts'

/** How far an attempt has come, as its worker says. */
export interface ProgressReport {
  readonly leaseId: LeaseId
  readonly by: ProviderId
  readonly workerId?: WorkerId | undefined
  /** 0 to 100. */
  readonly percent?: number | undefined
  readonly message?: string | undefined
  /** Lines for the log of the attempt. */
  readonly log?: readonly string[] | undefined
}

export interface LiveProgress {
  readonly jobId: JobId
  readonly leaseId: LeaseId
  readonly caller: Caller
  readonly providerId: ProviderId
  readonly percent: number
}

const CALLS_PER_SECOND = 10
const MESSAGE_BYTES_MAX = 1_024
const LINES_MAX = 100
const LEASES_KEPT = 10_000

interface Recent {
  second: number
  calls: number
  /** When listeners were last told. */
  toldAt: number
}

/** Progress and log lines of attempts (PROGRESS-1). */
export class EngineProgress {
  readonly #loop: EngineLoop
  readonly #logs: LogDesk
  readonly #clock: Clock
  readonly #onLease: (command: Submission & OnLease) => Promise<unknown>
  readonly #recent = new Map<LeaseId, Recent>()
  readonly #listeners = new Set<(progress: LiveProgress) => void>()

  constructor(parts: {
    readonly loop: EngineLoop
    readonly logs: LogDesk
    readonly clock: Clock
    /** Submits a call of a holder, and answers for a lease that only the tables still have. */
    readonly onLease: (command: Submission & OnLease) => Promise<unknown>
  }) {
    this.#loop = parts.loop
    this.#logs = parts.logs
    this.#clock = parts.clock
    this.#onLease = parts.onLease
  }

  /** Resolves once it is durable, but for the log lines. */
  async report(report: ProgressReport): Promise<void> {
    const { leaseId, by, workerId, percent = null, message = null, log = [] } = report
    check(percent, message, log)
    const { market } = this.#loop.state
    const lease = market.leases.get(leaseId)
    const recent = this.#admit(leaseId)
    // The site's own words of a registration are kept nowhere (FAIL-5).
    const isPrivate = lease?.job.shape.kind === 'registration'
    const words = { percent, message: isPrivate ? null : message }
    await this.#onLease({ type: 'progress', leaseId, by, workerId, ...words })
    if (lease === undefined) return
    const { id: jobId, caller } = lease.job
    this.#logs.note(jobId, lease.attempt, words)
    if (!isPrivate) this.#logs.add(jobId, lease.attempt, log)
    const now = market.nowMs
    if (percent === null || now - recent.toldAt < 1_000) return
    recent.toldAt = now
    for (const listener of this.#listeners) {
      guarded(() => listener({ jobId, leaseId, caller, providerId: by, percent }))
    }
  }

  /** How far a live job has come; null if its worker has not said. */
  of(jobId: JobId): Progress | null {
    return this.#loop.state.progressOf(jobId)
  }

  /** The log lines and the last progress of each attempt of a job, the oldest first. */
  logs(jobId: JobId): AttemptLog[] {
    return this.#logs.read(jobId)
  }

  /** Tells of progress as it comes, at most once a second for each lease. */
  onProgress(listener: (progress: LiveProgress) => void): Unsubscribe {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #admit(leaseId: LeaseId): Recent {
    const second = Math.floor(this.#clock.now() / 1_000)
    let recent = this.#recent.get(leaseId)
    if (recent === undefined) {
      if (this.#recent.size >= LEASES_KEPT) this.#recent.clear()
      recent = { second, calls: 0, toldAt: Number.NEGATIVE_INFINITY }
      this.#recent.set(leaseId, recent)
    }
    if (recent.second !== second) {
      recent.second = second
      recent.calls = 0
    }
    if (++recent.calls <= CALLS_PER_SECOND) return recent
    throw new FairleadError(
      'RateLimited',
      `lease ${leaseId} reports more than ${CALLS_PER_SECOND} times a second; gather what there is to say`,
      { leaseId, retry_after_ms: 1_000 },
    )
  }
}

function check(percent: number | null, message: string | null, log: readonly string[]): void {
  if (percent !== null) wholeNumber('percent', percent, { min: 0, max: 100 })
  if (message !== null && (typeof message !== 'string' || !message.isWellFormed())) {
    throw invalidParams('message', 'well-formed text')
  }
  if (message !== null && Buffer.byteLength(message) > MESSAGE_BYTES_MAX) {
    throw invalidParams('message', `at most ${MESSAGE_BYTES_MAX} bytes`)
  }
  const isList = Array.isArray(log) && log.length <= LINES_MAX
  if (!isList || log.some((line) => typeof line !== 'string')) {
    throw invalidParams('log', `a list of at most ${LINES_MAX} lines of text`)
  }
}
