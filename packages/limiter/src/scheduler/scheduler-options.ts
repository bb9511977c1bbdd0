import { type Clock, invalidParams, type Limiter, wholeNumber } from '@fairlead/core/limits'
import { knownFields } from '../known-fields.ts'
import { checkObservers, type OnError } from '../observers.ts'

/** Which job an event is about, and under which lease id it asked. */
export interface JobEvent {
  readonly jobId: string
  readonly leaseId: string
  readonly attempt: number
  readonly tenant: string
  readonly provider: string
  readonly model: string
}

/** An observer may be asynchronous. One that fails changes nothing for any job (LIMIT-17). */
export interface SchedulerObserver {
  readonly onDenied?: (
    event: JobEvent & { readonly key: string; readonly retryAfterMs: number },
  ) => unknown
  /** The limiter did not answer; the same reserve is made again. */
  readonly onUnknown?: (event: JobEvent & { readonly detail: string }) => unknown
  /** What a job held could not be given back; it ends by itself. */
  readonly onCompleteFailed?: (event: JobEvent) => unknown
  /** Told of the first failure of each other observer; a warning of the process unless given. */
  readonly onError?: OnError
}

export interface SchedulerOptions extends SchedulerObserver {
  readonly limiter: Limiter
  /** Jobs of one model that run, or ask whether they may, at one time; or that and a total for all models (SCHED-9). */
  readonly workers: number | WorkerOptions
  /** Tokens of a prompt; its bytes unless given, which are never fewer. */
  readonly estimateTokens?: (prompt: string, model: string) => number
  /** 0 to 1, for the jitter of waits. */
  readonly random?: () => number
  readonly clock?: Clock
}

export interface WorkerOptions {
  /** Of one model; half of the total unless given, so that one slow model leaves room for the others. */
  readonly perModel?: number
  /** Of all models together; no bound unless given. */
  readonly total?: number
}

/** Infinity is no bound. */
export interface Workers {
  readonly perModel: number
  readonly total: number
}

const OBSERVERS = ['onDenied', 'onUnknown', 'onCompleteFailed', 'onError'] as const
const OPTIONS = ['limiter', 'workers', 'estimateTokens', 'random', 'clock', ...OBSERVERS] as const

export function readSchedulerOptions(given: SchedulerOptions): SchedulerOptions {
  const options = knownFields('options', given, OPTIONS)
  checkObservers(options, [...OBSERVERS, 'estimateTokens', 'random'])
  if (typeof options.limiter?.reserve !== 'function') {
    throw invalidParams('limiter', 'what createLimiter gives, or another one of that kind')
  }
  return options
}

export function readWorkers(given: number | WorkerOptions): Workers {
  if (typeof given !== 'object') {
    return { perModel: wholeNumber('workers', given, { min: 1 }), total: Number.POSITIVE_INFINITY }
  }
  const { perModel, total } = knownFields('workers', given, ['perModel', 'total'])
  if (perModel === undefined && total === undefined) {
    throw invalidParams('workers', 'a number, or an object with perModel, total or both')
  }
  if (perModel !== undefined) wholeNumber('workers.perModel', perModel, { min: 1 })
  if (total === undefined) return { perModel: perModel as number, total: Number.POSITIVE_INFINITY }
  wholeNumber('workers.total', total, { min: 1 })
  return { perModel: perModel ?? Math.max(1, Math.floor(total / 2)), total }
}
