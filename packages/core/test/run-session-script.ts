import type { PlatformRows } from '../src/policy/platform-policy.ts'
import type { DispatchJob } from '../src/sessions/dispatch-job.ts'
import { SessionDispatch } from '../src/sessions/session-dispatch.ts'
import { attemptOf, lookupAfter, type ScriptJob, type SessionScript } from './any-session-script.ts'

export interface ScriptSend {
  readonly at: number
  readonly id: string
  readonly attempt: number
}

export interface ScriptFinal {
  readonly id: string
  readonly status: string
  readonly reason: string | null
  readonly at: number
  readonly attempts: number
}

export interface ScriptResult {
  readonly sends: readonly ScriptSend[]
  readonly finals: readonly ScriptFinal[]
}

/** What a test may want to see or do while a script runs. */
export interface ScriptHooks {
  readonly start?: (rows: PlatformRows) => SessionDispatch
  /** After each instant; may give another machine, which goes on in its place. */
  readonly afterInstant?: (dispatch: SessionDispatch, at: number) => SessionDispatch | undefined
  /** Before the sends of an instant. */
  readonly beforeSends?: (dispatch: SessionDispatch, at: number) => void
}

/** Plays the platforms and the callers of a script until nothing can happen any more. */
export function runSessionScript(script: SessionScript, hooks: ScriptHooks = {}): ScriptResult {
  let dispatch = hooks.start?.(script.rows) ?? new SessionDispatch(script.rows)
  const sends: ScriptSend[] = []
  const finals = new Map<string, ScriptFinal>()
  let inFlight: { at: number; job: ScriptJob; n: number }[] = []
  let joins = script.jobs.toSorted((a, b) => a.queuedAt - b.queuedAt)
  let cancels = script.jobs.filter(({ cancelAt }) => cancelAt !== null)
  const scripted = new Map(script.jobs.map((job) => [job.request.id, job]))
  const note = (job: DispatchJob | null): void => {
    if (job?.end == null) return
    finals.set(job.entry.id, { id: job.entry.id, ...job.end, attempts: job.attempts })
  }

  for (;;) {
    const at = Math.min(
      dispatch.nextDueAt() ?? Infinity,
      ...inFlight.map((attempt) => attempt.at),
      ...joins.map(({ queuedAt }) => queuedAt),
      ...cancels.map(({ cancelAt }) => cancelAt as number),
    )
    if (at === Infinity) break
    for (const job of dispatch.advance(at)) note(job)
    for (const { job, n } of inFlight.filter((attempt) => attempt.at === at)) {
      note(dispatch.outcome(job.request.id, attemptOf(job, n).outcome))
    }
    inFlight = inFlight.filter((attempt) => attempt.at !== at)
    for (const { request } of joins.filter(({ queuedAt }) => queuedAt === at)) {
      dispatch.join(request)
    }
    joins = joins.filter(({ queuedAt }) => queuedAt !== at)
    for (const job of cancels.filter(({ cancelAt }) => cancelAt === at)) {
      const { id } = job.request
      note(dispatch.cancel(id, lookupAfter(job, dispatch.job(id)?.attempts ?? 0)))
    }
    cancels = cancels.filter(({ cancelAt }) => cancelAt !== at)
    hooks.beforeSends?.(dispatch, at)
    for (const { job, attempt } of dispatch.sendReady()) {
      const of = scripted.get(job.entry.id) as ScriptJob
      sends.push({ at, id: job.entry.id, attempt })
      inFlight.push({ at: at + attemptOf(of, attempt).serviceMs, job: of, n: attempt })
    }
    dispatch = hooks.afterInstant?.(dispatch, at) ?? dispatch
  }
  return { sends, finals: script.jobs.map(({ request }) => finals.get(request.id) as ScriptFinal) }
}
