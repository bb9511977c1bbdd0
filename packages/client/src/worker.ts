import type { Clock, KindName, LeaseSource, WorkerId } from '@fairlead/core'
import type { Job } from './attempt.ts'
import type { JobResult } from './result.ts'
import { WorkerLoop } from './worker-loop.ts'

/** Does one job. What it returns is the result; what it throws is a failure. */
export type Handler = (job: Job) => Promise<JobResult> | JobResult

export interface WorkerOptions {
  readonly source: LeaseSource
  readonly providerId: string
  /** A random one where it is left out. A process that is started anew is another worker. */
  readonly workerId?: string
  readonly kinds: readonly KindName[]
  /** Models and task names; any where it is left out. */
  readonly models?: readonly string[]
  /** Handlers that run at once, at most. */
  readonly concurrency: number
  readonly handler: Handler
  /** Hears of what a handler threw and of calls that were refused; a warning where it is left out. */
  readonly onError?: (error: unknown, job: Job | null) => void
  readonly clock?: Clock
  /** For spreading retries: 0 to 1. */
  readonly random?: () => number
}

export interface Worker {
  readonly workerId: WorkerId
  /**
   * Takes no more work, gives back what no handler has begun, and waits for the handlers: for as long
   * as they take, or up to `graceMs`. Then their signals fire, and their work is given back as well.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>
  /** Resolves when the worker has stopped; is rejected if it cannot go on. */
  readonly closed: Promise<void>
}

/** Serves a provider: takes its leases and runs the handler for each, until it is stopped. */
export function worker(options: WorkerOptions): Worker {
  return new WorkerLoop(options)
}
