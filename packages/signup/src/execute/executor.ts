import type { Clock, LeaseFailure, LeaseTask } from '@fairlead/core'
import { classifyAnswer, lookupDecides, registrationCode } from '@fairlead/core/internal'
import type { Adapter, HttpAnswer, HttpCall, LookupAnswer, SignupJob } from '../adapter/adapter.ts'
import { Unfillable } from '../adapter/template.ts'
import type { ProviderConfig } from '../providers/providers.ts'
import type { ClockOffsets } from './clock-offset.ts'
import { type Exchange, exchange } from './exchange.ts'
import { retryAfterMs } from './retry-after.ts'

/** One attempt, as it is handed to the executor. */
export interface Attempt {
  readonly job: SignupJob
  readonly task: LeaseTask
  readonly provider: ProviderConfig
  readonly adapter: Adapter
  /** Fires when the lease is lost. */
  readonly signal: AbortSignal
  /** When the source was last asked whether the lease is ours, and said yes. */
  readonly confirmedAt: number
  /** Asks again; rejects where it is not. */
  readonly confirm: () => Promise<void>
  /** Hears of each call that can book or hold, right before its first byte goes out. */
  readonly onSend: () => void
}

/** How the attempt ended: a seat, a place on the waitlist, or why neither. */
export type AttemptResult = {
  /** When the call that can book went out, on the wall clock; left out if none did. */
  readonly sentAt?: number
} & (
  | {
      readonly type: 'booked' | 'waitlisted'
      readonly bookingNumber: string | null
      readonly isLookedUp: boolean
    }
  | { readonly type: 'failed'; readonly failure: LeaseFailure }
)

export interface ExecutorOptions {
  readonly clock: Clock
  readonly wallClock: () => number
  readonly offsets: ClockOffsets
  /** Hears of what went wrong beside the outcome. */
  readonly onError: (error: Error, job: SignupJob) => void
}

/**
 * A send has to follow so soon after the source confirmed the lease. It counts a worker as lost after
 * 2,000 ms at the earliest; one that was stopped in between and wakes up must not send any more, since
 * another may have been asked by then (EXECUTE-2).
 */
const SEND_WITHIN_MS = 1_500

/**
 * Makes one attempt: a call that books, or a hold and its commit; and a lookup where the answer was lost.
 * What it reports is only what it knows: a request that may have arrived is unknown until somebody looked.
 */
export class Executor {
  readonly #options: ExecutorOptions

  constructor(options: ExecutorOptions) {
    this.#options = options
  }

  run(attempt: Attempt): Promise<AttemptResult> {
    if (attempt.task === 'lookup') return this.#lookedUp(attempt, { code: 'outcome_unknown' })
    return attempt.adapter.hold === undefined
      ? this.#book(attempt, { holdId: null, confirmedAt: attempt.confirmedAt })
      : this.#holdAndCommit(attempt)
  }

  async #book(
    attempt: Attempt,
    from: { readonly holdId: string | null; readonly confirmedAt: number; readonly until?: number },
  ): Promise<AttemptResult> {
    const { adapter, job } = attempt
    const call = this.#made(attempt, () => adapter.request(job, from.holdId))
    if ('type' in call) return call
    const sent = await this.#send(attempt, call, from)
    if (sent.type === 'unsent') return failed({ code: sent.code, isUnsent: true })
    return { ...(await this.#judged(attempt, sent)), sentAt: sent.sentAt }
  }

  /** What became of a call that went out. */
  async #judged(
    attempt: Attempt,
    sent: Exclude<Exchange, { readonly type: 'unsent' }>,
  ): Promise<AttemptResult> {
    const { adapter, provider } = attempt
    if (sent.type === 'unanswered') return this.#unknown(attempt, { code: sent.code })
    const outcome = this.#read(attempt, () => inKnownWords(adapter.outcome(sent.answer), attempt))
    if (outcome === null || outcome.type === 'unclear') {
      return this.#unknown(attempt, { code: 'unclear_answer' })
    }
    if (outcome.type !== 'refused') return { ...outcome, isLookedUp: false }
    const refusal = refusalOf(outcome, sent)
    const found = classifyAnswer(answerOf(outcome), provider.policy)
    if (found === 'unknown') return this.#unknown(attempt, refusal)
    return failed({ ...refusal, permanent: found === 'permanent' })
  }

  /** A hold, its commit while it lasts, and its release where that came to nothing (EXECUTE-4). */
  async #holdAndCommit(attempt: Attempt): Promise<AttemptResult> {
    const { adapter, job, provider } = attempt
    const hold = adapter.hold as NonNullable<Adapter['hold']>
    const call = this.#made(attempt, () => hold.request(job))
    if ('type' in call) return call
    const heldFrom = this.#options.clock.now()
    const sent = await this.#send(attempt, call, attempt)
    // A hold is no booking: one that nobody knows of ends by itself.
    if (sent.type !== 'answered') return failed({ code: sent.code, isUnsent: true })
    const outcome = this.#read(attempt, () => inKnownWords(hold.outcome(sent.answer), attempt))
    if (outcome === null) return failed({ code: 'unclear_answer', isUnsent: true })
    if (outcome.type === 'waitlisted') return { ...outcome, isLookedUp: false }
    if (outcome.type === 'refused') {
      const found = classifyAnswer(answerOf(outcome), provider.policy)
      const permanent = found === 'permanent'
      return failed({ ...refusalOf(outcome, sent), permanent, isUnsent: true })
    }
    const { holdId } = outcome
    const { holdTtlMs } = provider.profile
    const until = heldFrom + (typeof holdTtlMs === 'number' ? holdTtlMs : 0)
    const result = await this.#commit(attempt, holdId, until)
    const isOpen = result.type === 'failed' && result.failure.isUnknown === true
    const mayBook = isOpen && result.failure.lookup !== 'not_booked'
    if (result.type === 'failed' && !mayBook) await this.#release(attempt, holdId)
    return result
  }

  async #commit(attempt: Attempt, holdId: string, until: number): Promise<AttemptResult> {
    const confirmedAt = this.#options.clock.now()
    try {
      await attempt.confirm()
    } catch {
      return failed({ code: 'not_sent', isUnsent: true })
    }
    return this.#book(attempt, { holdId, confirmedAt, until })
  }

  async #release(attempt: Attempt, holdId: string): Promise<void> {
    const { adapter, job, provider } = attempt
    const { hold } = adapter
    if (hold?.release === undefined) return
    const call = this.#made(attempt, () => hold.release?.(job, holdId) as HttpCall)
    if ('type' in call) return
    const sent = await this.#exchange(provider, call, { signal: NEVER, maySend: () => true })
    const isDone = sent.type === 'answered' && sent.answer.status < 400
    if (!isDone) {
      this.#options.onError(new Error('a hold was not given back; it ends with its time'), job)
    }
  }

  /** The request may have arrived. Where neither a key nor a look can tell, it stays open (ATTEMPT-5). */
  #unknown(
    attempt: Attempt,
    failure: { readonly code: string; readonly http?: number; readonly retryAfterMs?: number },
  ): Promise<AttemptResult> | AttemptResult {
    const { adapter, provider } = attempt
    const policy = { ...provider.policy, lookupSupported: adapter.lookup !== undefined }
    if (lookupDecides(policy, false)) return this.#lookedUp(attempt, failure)
    return failed({ ...failure, isUnknown: true })
  }

  /**
   * Asks the platform. "Booked" is believed at once. "Not booked" only when it is said again after the
   * time that a late request may take: else a retry could make a second booking (EXECUTE-3).
   */
  async #lookedUp(
    attempt: Attempt,
    failure: { readonly code: string; readonly http?: number; readonly retryAfterMs?: number },
  ): Promise<AttemptResult> {
    const { adapter, provider, signal } = attempt
    const askedFrom = this.#options.clock.now()
    if (adapter.lookup === undefined) {
      return failed({ ...failure, isUnknown: true, lookup: 'failed' })
    }
    for (;;) {
      const found = await this.#lookUp(attempt, adapter.lookup)
      if (found.type === 'booked' || found.type === 'waitlisted') {
        return { ...found, isLookedUp: true }
      }
      if (found.type === 'failed') return failed({ ...failure, isUnknown: true, lookup: 'failed' })
      // Another look may tell; when, is for the engine to say.
      if (found.type === 'later') return failed({ ...failure, ...found.said, isUnknown: true })
      const settledAt = askedFrom + provider.lookupSettleMs
      if (this.#options.clock.now() >= settledAt) {
        return failed({ ...failure, isUnknown: true, lookup: 'not_booked' })
      }
      await this.#until(settledAt, signal)
      if (signal.aborted) return failed({ ...failure, isUnknown: true })
    }
  }

  async #lookUp(
    attempt: Attempt,
    lookup: NonNullable<Adapter['lookup']>,
  ): Promise<LookupAnswer | { readonly type: 'later'; readonly said: Partial<LeaseFailure> }> {
    const { job, provider, signal } = attempt
    const call = this.#made(attempt, () => lookup.request(job))
    if ('type' in call) return { type: 'failed' }
    const sent = await this.#exchange(provider, call, { signal, maySend: () => true })
    if (sent.type !== 'answered') return { type: 'later', said: {} }
    const found = this.#read(attempt, () => lookup.outcome(sent.answer)) ?? { type: 'failed' }
    const { status: http } = sent.answer
    const isWorthAnother = http === 408 || http === 429 || http >= 500
    if (found.type !== 'failed' || !isWorthAnother) return found
    const { retryAfterMs: wait } = refusalOf({ http }, sent)
    return { type: 'later', said: { http, ...(wait === undefined ? {} : { retryAfterMs: wait }) } }
  }

  /** Sends what can book or hold, if that is still ours to send. */
  #send(
    { provider, signal, onSend }: Attempt,
    call: HttpCall,
    { confirmedAt, until = Number.POSITIVE_INFINITY }: { confirmedAt: number; until?: number },
  ): Promise<Exchange> {
    const maySend = (): boolean => {
      const now = this.#options.clock.now()
      if (now >= until || now - confirmedAt > SEND_WITHIN_MS) return false
      onSend()
      return true
    }
    return this.#exchange(provider, call, { signal, maySend })
  }

  async #exchange(
    { platform, timeoutMs }: ProviderConfig,
    call: HttpCall,
    given: { readonly signal: AbortSignal; readonly maySend: () => boolean },
  ): Promise<Exchange> {
    const { wallClock, offsets } = this.#options
    const sent = await exchange(call, { timeoutMs, wallClock, ...given })
    if (sent.type === 'answered') offsets.note(platform, { ...sent, headers: sent.answer.headers })
    return sent
  }

  /** The call, or why there is none: then nothing was sent. */
  #made({ job }: Attempt, make: () => HttpCall): HttpCall | AttemptResult {
    try {
      return make()
    } catch (error) {
      if (error instanceof Unfillable) {
        this.#options.onError(error, job)
        return failed({ code: error.code, permanent: true, isUnsent: true })
      }
      this.#options.onError(adapterError(error), job)
      return failed({ code: 'adapter_error', isUnsent: true })
    }
  }

  /** What an adapter makes of an answer; null where it throws: then nobody knows what was meant. */
  #read<T>({ job }: Attempt, read: () => T): T | null {
    try {
      return read()
    } catch (error) {
      this.#options.onError(adapterError(error), job)
      return null
    }
  }

  #until(atMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.wakeAt(atMs, resolve)
      const stop = (): void => {
        cancel()
        resolve()
      }
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
    })
  }
}

const NEVER = new AbortController().signal

/**
 * A code of the site's own may be anybody's name, and it goes into reports, events and what is printed. Only one
 * that the rules or the operator name stays (ADAPTER-4).
 */
function inKnownWords<Answer extends { readonly type: string; readonly code?: string }>(
  answer: Answer,
  { provider }: Attempt,
): Answer {
  const { code } = answer
  return code === undefined ? answer : { ...answer, code: registrationCode(code, provider.policy) }
}

function failed(failure: Partial<LeaseFailure> & { readonly code: string }): AttemptResult {
  return { type: 'failed', failure: { permanent: false, ...failure } }
}

interface Refused {
  readonly http: number
  readonly code?: string
}

function answerOf({ http, code }: Refused): { http: number; error?: string } {
  return { http, ...(code === undefined ? {} : { error: code }) }
}

function refusalOf(
  { http, code }: Refused,
  { answer, answeredAt }: { readonly answer: HttpAnswer; readonly answeredAt: number },
): { code: string; http: number; retryAfterMs?: number } {
  const wait = retryAfterMs(answer.headers, answeredAt)
  return {
    code: code ?? `http_${http}`,
    http,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  }
}

/** The name of the error alone: its text may hold anything, and so may its cause. */
function adapterError(error: unknown): Error {
  const name = error instanceof Error ? error.name : typeof error
  return new Error(`the adapter threw a ${name}; see the adapter`)
}
