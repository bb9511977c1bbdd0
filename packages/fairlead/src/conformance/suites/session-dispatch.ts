import type { JobId } from '@fairlead/core'
import {
  type AttemptOutcome,
  type DispatchJob,
  type Lookup,
  type PlatformPolicy,
  type PlatformRows,
  SessionDispatch,
  type SessionSend,
} from '@fairlead/core/internal'
import { amount, type Json, suite } from '../suite.ts'
import { sessionRequest } from './session-order.ts'

/** §13: budgets, pacing, turns, retries, throttling. */
export const sessionDispatch = suite(({ providers, jobs }) => {
  const script = new Script(providers, jobs)
  script.run()
  return {
    sends: script.sends.map(({ at, job, attempt }) => ({ at, job_id: job.entry.id, attempt })),
    finals: jobs.map((json: Json) => final(json.job_id, script.joined.get(json.job_id))),
  }
})

/** Plays the platform: each attempt meets what the script says. */
class Script {
  readonly sends: SessionSend[] = []
  readonly joined = new Map<JobId, DispatchJob>()
  readonly #dispatch: SessionDispatch
  readonly #scripted: ReadonlyMap<JobId, Json>
  readonly #joins: Timeline<Json>
  readonly #cancels: Timeline<Json>
  readonly #inFlight: { at: number; id: JobId; outcome: Json }[] = []

  constructor(providers: Json, jobs: Json[]) {
    this.#dispatch = new SessionDispatch(platformRows(providers))
    this.#scripted = new Map(jobs.map((job) => [job.job_id, job]))
    this.#joins = new Timeline(jobs, ({ queued_at }) => queued_at)
    const cancelled = jobs.filter(({ cancel_at }) => (cancel_at ?? null) !== null)
    // Nobody cancels what he has not asked for yet.
    this.#cancels = new Timeline(cancelled, (job) => Math.max(job.cancel_at, job.queued_at))
  }

  run(): void {
    for (let at = this.#nextAt(); at < Infinity; at = this.#nextAt()) this.#step(at)
  }

  /** One instant, in the order of the rules. */
  #step(at: number): void {
    this.#dispatch.advance(at)
    // In the order of their sends, as they were put in.
    for (const attempt of this.#inFlight.filter((each) => each.at === at)) {
      this.#inFlight.splice(this.#inFlight.indexOf(attempt), 1)
      this.#dispatch.outcome(attempt.id, attemptOutcome(attempt.outcome))
    }
    for (const job of this.#joins.take(at)) {
      this.joined.set(job.job_id, this.#dispatch.join(sessionRequest(job)))
    }
    for (const job of this.#cancels.take(at)) {
      this.#dispatch.cancel(job.job_id, this.#lookup(job.job_id))
    }
    for (const send of this.#dispatch.sendReady()) this.#sent(send)
  }

  #sent(send: SessionSend): void {
    const { id } = send.job.entry
    const { service_ms, outcome } = this.#attempt(id, send.attempt)
    this.sends.push(send)
    this.#inFlight.push({ at: send.at + Number(amount(service_ms)), id, outcome })
  }

  /** What a look at the bookings would find after the last attempt of a job. */
  #lookup(id: JobId): Lookup | null {
    const attempts = this.#dispatch.job(id)?.attempts ?? 0
    return attempts === 0 ? null : (this.#attempt(id, attempts - 1).outcome.lookup ?? null)
  }

  #attempt(id: JobId, n: number): Json {
    const { attempts } = this.#scripted.get(id)
    return attempts[Math.min(n, attempts.length - 1)]
  }

  #nextAt(): number {
    return Math.min(
      this.#dispatch.nextDueAt() ?? Infinity,
      this.#joins.nextAt(),
      this.#cancels.nextAt(),
      ...this.#inFlight.map(({ at }) => at),
    )
  }
}

/** What happens at given times, in their order; at equal times in that of the list. */
class Timeline<T> {
  readonly #rest: { at: number; item: T }[]

  constructor(items: readonly T[], atOf: (item: T) => number) {
    this.#rest = items.map((item) => ({ at: atOf(item), item })).sort((a, b) => a.at - b.at)
  }

  nextAt(): number {
    return this.#rest[0]?.at ?? Infinity
  }

  take(at: number): T[] {
    const due = this.#rest.filter((entry) => entry.at <= at)
    this.#rest.splice(0, due.length)
    return due.map(({ item }) => item)
  }
}

function final(id: JobId, job: DispatchJob | undefined): Json {
  const { status: state = null, reason = null, at = null } = job?.end ?? {}
  return { job_id: id, state, reason, at, attempts: job?.attempts ?? 0 }
}

function attemptOutcome(json: Json): AttemptOutcome {
  const { ok, unknown, lookup, http, error, retry_after_ms } = withoutNulls(json)
  if (ok) return { type: 'booked' }
  const found = lookup === undefined ? {} : { lookup }
  if (unknown) return { type: 'unknown', ...found }
  return {
    type: 'refused',
    ...found,
    ...(http === undefined ? {} : { http }),
    ...(error === undefined ? {} : { error }),
    ...(retry_after_ms === undefined ? {} : { retryAfterMs: Number(amount(retry_after_ms)) }),
  }
}

function platformRows(providers: Json): PlatformRows {
  return Object.fromEntries(
    Object.entries<Json>(providers).map(([name, row]) => [name, platformRow(row)]),
  )
}

function platformRow(row: Json): Partial<PlatformPolicy> {
  const fields: Record<string, Json> = {}
  for (const [name, value] of Object.entries(row)) {
    const read = FIELDS[name]
    if (read === undefined) throw new TypeError(`unknown field ${name} of a provider`)
    Object.assign(fields, read(value))
  }
  return fields
}

const FIELDS: Readonly<Record<string, (written: Json) => Partial<PlatformPolicy>>> = {
  max_concurrency: (n) => ({ maxConcurrency: Number(amount(n)) }),
  burst: (n) => ({ burst: Number(amount(n)) }),
  max_rps: (n) => ({ maxRpsMilli: Math.round(n * 1_000) }),
  min_spacing_ms: (n) => ({ minSpacingMs: Number(amount(n)) }),
  window_ms: (n) => ({ windowMs: Number(amount(n)) }),
  backoff_ms: (list) => ({ backoffMs: list.map((n: Json) => Number(amount(n))) }),
  idempotency_key_supported: (is) => ({ idempotencyKeySupported: is }),
  lookup_supported: (is) => ({ lookupSupported: is }),
  error_taxonomy: (taxonomy) => ({ errorTaxonomy: taxonomy }),
  retry_on_http: (statuses) => ({ retryOnHttp: statuses }),
  weights: (weights) => ({ weights }),
}

function withoutNulls(json: Json): Json {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
}
