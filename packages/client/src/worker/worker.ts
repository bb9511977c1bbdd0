import type { Clock, KindName, LeaseSource, ProviderNotice, WorkerId } from '@fairlead/core'
import type { Proving } from '../prover/prover.ts'
import { jsonCompletion } from '../result.ts'
import { checked, type StandardSchema } from '../standard-schema.ts'
import type { Job } from './attempt.ts'
import { WorkerLoop } from './worker-loop.ts'

/**
 * Does one job. It returns the output: text, bytes, any value that JSON can hold, or nothing; a `Completion` says
 * more. What it throws is a failure.
 */
export type Handler<Kind extends KindName = KindName, Value = unknown> = (
  job: Job<Kind>,
) => Promise<Value> | Value

export interface WorkerOptions<Kind extends KindName = KindName, Value = unknown> {
  readonly source: LeaseSource
  readonly providerId: string
  /** A random one where it is left out. A process that is started anew is another worker. */
  readonly workerId?: string
  readonly kinds: readonly Kind[]
  /** Models and task names; any where it is left out. */
  readonly models?: readonly string[]
  /** Booking sites to register people at, `*` is any; none where it is left out. */
  readonly platforms?: readonly string[]
  /** Handlers that run at once, at most. */
  readonly concurrency: number
  readonly handler: Handler<Kind, Value>
  /** Asked before a job is taken on; false declines it, and it goes to another provider (WORKER-13). */
  readonly accepts?: (job: Job<Kind>) => boolean
  /** Hears of what a handler threw and of calls that were refused; a warning where it is left out. */
  readonly onError?: (error: unknown, job: Job | null) => void
  /** Hears that it is connected and has told what it can do; after a lost connection once more. */
  readonly onConnected?: () => void
  /**
   * Hears why its provider gets no work and what to do about it, and with null that this is over. Left out, a
   * notice is a process warning (WORKER-15).
   */
  readonly onNotice?: (notice: ProviderNotice | null) => void
  /** Proves each completed lease; `client.worker({ prover })` makes one. */
  readonly proving?: Proving
  readonly clock?: Clock
  /** How often it says that its provider is alive; 60,000 if left out. */
  readonly heartbeatMs?: number
  /** For spreading retries: 0 to 1. */
  readonly random?: () => number
}

/** With a schema a handler may return any value that fits it; it is kept as JSON. */
export interface WithSchema<Value> {
  readonly result: StandardSchema<Value, unknown>
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
export function worker<Kind extends KindName>(options: WorkerOptions<Kind>): Worker
export function worker<Kind extends KindName, Value>(
  options: WorkerOptions<Kind, Value> & WithSchema<Value>,
): Worker
export function worker<Kind extends KindName, Value>(
  options: WorkerOptions<Kind, Value> & Partial<WithSchema<Value>>,
): Worker {
  const { result: schema, ...rest } = options
  // A worker gets jobs of its own kinds only.
  const plain = rest as unknown as WorkerOptions
  if (schema === undefined) return new WorkerLoop(plain)
  const handler = rest.handler as unknown as Handler<KindName, Value>
  return new WorkerLoop({
    ...plain,
    handler: async (job) => jsonCompletion(await checked(schema, await handler(job))),
  })
}
