import type { JobId, MarketEvent } from '@fairlead/core'
import type { EngineLoop } from './engine-loop.ts'

/** Somebody was not let in, or not let to what it asked for. */
export interface Refusal {
  /** An address, or the id of a token. */
  readonly by: string
  /** What was refused. */
  readonly subject: string
  readonly reason: string
  readonly attempts: number
}

/** What came with a job and is no part of its work. */
export interface JobNote {
  /** A job that this one takes up again. */
  readonly retryOf?: JobId
  /** W3C trace context. */
  readonly traceparent?: string
}

/** Appends an entry about a job; it is in the job's timeline, and durable when this resolves. */
export function noteJob(loop: EngineLoop, jobId: JobId, note: JobNote): Promise<void> {
  return append(loop, (at) => ({ type: 'jobNoted', at, jobId, ...note }))
}

/** Appends an entry about refused attempts (AUTH-5). */
export async function noteRefusal(loop: EngineLoop, refusal: Refusal): Promise<void> {
  // The engine's time stands still while nothing happens.
  await loop.submit({ type: 'tick' })
  await append(loop, (at) => new AccessRefused(refusal, at))
}

/**
 * An event that is about no job, lease or provider. The journal takes the subject of an entry from the
 * id that its event has; here that is no part of the details, and so no field of its own.
 */
class AccessRefused {
  readonly type = 'accessRefused'
  readonly at: number
  readonly by: string
  readonly reason: string
  readonly attempts: number
  readonly #subject: string

  constructor({ by, subject, reason, attempts }: Refusal, at: number) {
    this.at = at
    this.by = by
    this.reason = reason
    this.attempts = attempts
    this.#subject = subject
  }

  get providerId(): string {
    return this.#subject
  }
}

/** What the rules know nothing of, and the journal takes all the same. */
type Noted = AccessRefused | ({ type: 'jobNoted'; at: number; jobId: JobId } & JobNote)

/** Adds to the batch that is open, and waits until it is written. */
async function append(loop: EngineLoop, event: (at: number) => Noted): Promise<void> {
  for (;;) {
    const { state } = loop
    // The entry is the engine's own, whoever's command was carried out last.
    state.apply({ type: 'tick' }, state.market.nowMs)
    state.market.emit(event(state.market.nowMs) as unknown as MarketEvent)
    await loop.submit({ type: 'tick' })
    // After a failed write the state was loaded anew, without the entry.
    if (loop.state === state) return
  }
}
