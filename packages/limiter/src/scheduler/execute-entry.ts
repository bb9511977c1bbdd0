import { invalidParams } from '@fairlead/core/limits'
import type { ExecuteContext, SchedulerJob } from './job.ts'
import type { Entry } from './model-queue.ts'

/** Is told how a job ended: its value or its error, and the tokens that it used as far as it said so. */
export type Ended = (isDone: boolean, result: unknown, actualTokens: number | undefined) => void

/** Runs a job. What throws at once, or gives no promise, is treated like what comes later. */
export function executeEntry(entry: Entry, jobId: (entry: Entry) => string, ended: Ended): void {
  const { execute, given } = entry
  let result: ReturnType<SchedulerJob<unknown>['execute']>
  try {
    result = Promise.resolve(execute.call(given, new EntryContext(entry, jobId)))
  } catch (error) {
    result = Promise.reject(error)
  }
  result.then(
    (value) => succeeded(value, ended),
    (error: unknown) => failed(error, ended),
  )
}

export function controllerOf(entry: Entry): AbortController {
  entry.controller ??= new AbortController()
  return entry.controller
}

/** Most jobs never look at their signal, and one costs more than all the rest of a short job. */
class EntryContext implements ExecuteContext {
  readonly attempt: number
  readonly leaseId: string
  readonly #entry: Entry
  readonly #jobId: (entry: Entry) => string

  constructor(entry: Entry, jobId: (entry: Entry) => string) {
    this.attempt = entry.attempt
    this.leaseId = entry.leaseId
    this.#entry = entry
    this.#jobId = jobId
  }

  get jobId(): string {
    return this.#jobId(this.#entry)
  }

  get signal(): AbortSignal {
    return controllerOf(this.#entry).signal
  }
}

/** A number that is none must not reach the limiter: it would refuse it, and what is held would stay. */
function succeeded(
  given: Awaited<ReturnType<SchedulerJob<unknown>['execute']>>,
  ended: Ended,
): void {
  if (typeof given !== 'object' || given === null) {
    failed(invalidParams('execute', 'a promise of { value, actualTokens }'), ended)
    return
  }
  const { value, actualTokens } = given
  if (actualTokens === undefined || isAmount(actualTokens)) ended(true, value, actualTokens)
  else failed(invalidParams('actualTokens', 'a whole number of at least 0, or none'), ended)
}

function failed(error: unknown, ended: Ended): void {
  const tokens = (error as { actualTokens?: unknown } | null | undefined)?.actualTokens
  ended(false, error, isAmount(tokens) ? tokens : undefined)
}

function isAmount(tokens: unknown): tokens is number {
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0
}
