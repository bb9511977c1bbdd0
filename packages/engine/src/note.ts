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

/** Somebody with the right to do so changed something for others. */
export interface AdminAct {
  /** The id of a token. */
  readonly by: string
  /** What was changed. */
  readonly subject: string
  /** By which call. */
  readonly method: string
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
export function noteRefusal(loop: EngineLoop, refusal: Refusal): Promise<void> {
  const { by, subject, reason, attempts } = refusal
  return appendOf(loop, subject, { type: 'accessRefused', by, reason, attempts })
}

/** Appends an entry about an act of an operator (AUTH-7). */
export function noteAct(loop: EngineLoop, { by, subject, method }: AdminAct): Promise<void> {
  return appendOf(loop, subject, { type: 'adminActed', by, method })
}

/** About something that is no job, lease or provider, or not only that. */
async function appendOf(loop: EngineLoop, subject: string, fields: Fields): Promise<void> {
  // The engine's time stands still while nothing happens.
  await loop.submit({ type: 'tick' })
  await append(loop, (at) => new SubjectEvent(subject, { ...fields, at }))
}

interface Fields {
  readonly type: string
  readonly [field: string]: string | number
}

/**
 * An event with a subject of its own. The journal takes the subject of an entry from the id that its
 * event has; here that is no part of the details, and so no field of its own.
 */
class SubjectEvent {
  readonly #subject: string

  constructor(subject: string, fields: Fields) {
    this.#subject = subject
    Object.assign(this, fields)
  }

  get providerId(): string {
    return this.#subject
  }
}

/** What the rules know nothing of, and the journal takes all the same. */
type Noted = SubjectEvent | ({ type: 'jobNoted'; at: number; jobId: JobId } & JobNote)

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
