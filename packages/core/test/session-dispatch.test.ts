import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type PlatformPolicy, platformPolicy } from '../src/policy/platform-policy.ts'
import { type DispatchJob, dispatchJobState } from '../src/sessions/dispatch-job.ts'
import type { OrgDispatch } from '../src/sessions/org-dispatch.ts'
import { SessionDispatch, type SessionDispatchState } from '../src/sessions/session-dispatch.ts'
import { compareInSession, type SessionJob } from '../src/sessions/session-order.ts'
import {
  attemptOf,
  type ScriptJob,
  type SessionScript,
  sessionScripts,
} from './any-session-script.ts'
import { plainSessionDispatch } from './plain-session-dispatch.ts'
import { runSessionScript, type ScriptSend } from './run-session-script.ts'

const forAll = (check: (script: SessionScript) => void, numRuns = 150): void => {
  fc.assert(fc.property(sessionScripts, check), { numRuns })
}

const sessionOf = ({ request }: ScriptJob): string =>
  JSON.stringify([request.platform, request.orgRef, request.eventId])
const keyOf = ({ request }: ScriptJob): string => JSON.stringify([request.platform, request.orgRef])

/** The sends of a script with the jobs they are of, by something that the jobs have in common. */
function sendsBy(
  { jobs }: SessionScript,
  sends: readonly ScriptSend[],
  by: (job: ScriptJob) => string,
): (ScriptSend & { of: ScriptJob })[][] {
  const jobOf = new Map<string, ScriptJob>(jobs.map((job) => [job.request.id, job]))
  const withJobs = sends.map((send) => ({ ...send, of: jobOf.get(send.id) as ScriptJob }))
  return [...new Set(jobs.map(by))].map((name) => withJobs.filter(({ of }) => by(of) === name))
}

describe('sessions, whatever happens', () => {
  it('DISPATCH-1: sends and ends are those of a plain reading of the rules', () => {
    forAll((script) => {
      expect(runSessionScript(script)).toEqual(plainSessionDispatch(script))
    }, 60)
  })

  it('DISPATCH-2: nobody is sent while a ready job of the session is before it in the order', () => {
    forAll((script) => {
      const ids = script.jobs.map(({ request }) => request.id)
      const waiting = new Map<string, DispatchJob[]>()
      const { sends } = runSessionScript(script, {
        beforeSends: (dispatch, at) => {
          const ready = ids.map((id) => dispatch.job(id)).filter((job) => isReady(job, at))
          waiting.set(String(at), ready as DispatchJob[])
        },
      })
      for (const session of sendsBy(script, sends, sessionOf)) {
        for (const { at, id, of } of session) {
          const ready = waiting.get(String(at)) as DispatchJob[]
          const sent = ready.find(({ entry }) => entry.id === id) as DispatchJob
          const sentNow = session.filter((send) => send.at === at).map((send) => send.id)
          const passedOver = ready.filter(
            ({ entry }) =>
              entry.eventId === of.request.eventId &&
              entry.orgRef === of.request.orgRef &&
              entry.platform === of.request.platform &&
              compareInSession(entry, sent.entry) < 0 &&
              !sentNow.includes(entry.id),
          )
          expect(passedOver).toEqual([])
        }
      }
    })
  })

  it('DISPATCH-2: those who wait for an opening get their first attempts in the order of the session', () => {
    forAll((script) => {
      const { sends } = runSessionScript(script)
      for (const session of sendsBy(script, sends, sessionOf)) {
        const first = session.filter(
          ({ attempt, of }) => attempt === 0 && of.queuedAt < of.request.scheduledTime,
        )
        for (const time of new Set(first.map(({ of }) => of.request.scheduledTime))) {
          const group = first.filter(({ of }) => of.request.scheduledTime === time)
          const arrivals = group.map(({ of }) => of.queuedAt)
          expect(arrivals).toEqual(arrivals.toSorted((a, b) => a - b))
        }
      }
    })
  })

  it('BUDGET-2: in no span of time are more sends than burst and rate allow', () => {
    forAll((script) => {
      const { sends } = runSessionScript(script)
      for (const key of sendsBy(script, sends, keyOf)) {
        const { burst, maxRpsMilli } = policyOf(script, key)
        for (let from = 0; from < key.length; from++) {
          for (let to = from; to < key.length; to++) {
            const spanMs = (key[to]?.at ?? 0) - (key[from]?.at ?? 0)
            const micro = 1_000_000 * (to - from + 1)
            expect(micro).toBeLessThanOrEqual(burst * 1_000_000 + spanMs * maxRpsMilli)
          }
        }
      }
    })
  })

  it('BUDGET-3: never more attempts in flight than max_concurrency', () => {
    forAll((script) => {
      const { sends } = runSessionScript(script)
      for (const key of sendsBy(script, sends, keyOf)) {
        for (const { at } of key) {
          const inFlight = key.filter((send) => send.at <= at && endOf(send) > at)
          expect(inFlight.length).toBeLessThanOrEqual(policyOf(script, key).maxConcurrency)
        }
      }
    })
  })

  it('BUDGET-5: no send of a dispatch key before a Retry-After to a 429 has passed', () => {
    forAll((script) => {
      const { sends } = runSessionScript(script)
      for (const key of sendsBy(script, sends, keyOf)) {
        for (const throttled of key) {
          const { outcome } = attemptOf(throttled.of, throttled.attempt)
          if (outcome.type !== 'refused' || outcome.http !== 429) continue
          const pausedUntil = endOf(throttled) + (outcome.retryAfterMs ?? 0)
          const early = key.filter(({ at }) => at >= endOf(throttled) && at < pausedUntil)
          expect(early).toEqual([])
        }
      }
    })
  })

  it('DISPATCH-3: of m sessions that are ready each gets one send in m', () => {
    forAll((drawn) => {
      const script = withoutThrottling(drawn)
      // Sessions that were ready at the last send of their key, and how many sends they let pass.
      const passed = new Map<string, number>()
      let before: ReadonlySet<string> = new Set()
      const ids = script.jobs.map(({ request }) => request.id)
      runSessionScript(script, {
        beforeSends: (dispatch, at) => {
          const jobs = ids.map((id) => dispatch.job(id)).filter((job) => isReady(job, at))
          before = new Set(jobs.map((job) => laneOf(job as DispatchJob)))
          for (const lane of passed.keys()) if (!before.has(lane)) passed.delete(lane)
        },
        afterInstant: (dispatch, at) => {
          const all = ids.map((id) => dispatch.job(id))
          const sentNow = all
            .filter((job) => job?.sentAt === at)
            .map((job) => laneOf(job as DispatchJob))
          for (const lane of before) {
            const [platform, orgRef] = JSON.parse(lane)
            const ofKey = (other: string): boolean =>
              JSON.stringify(JSON.parse(other).slice(0, 2)) === JSON.stringify([platform, orgRef])
            if (sentNow.includes(lane)) passed.delete(lane)
            else passed.set(lane, (passed.get(lane) ?? 0) + sentNow.filter(ofKey).length)
            // Five sessions of a key at most, so four others.
            expect(passed.get(lane) ?? 0).toBeLessThanOrEqual(4)
          }
          return undefined
        },
      })
    })
  })

  it('DISPATCH-6: a job has one attempt at a time, and none after its end', () => {
    forAll((script) => {
      const { sends, finals } = runSessionScript(script)
      for (const [i, own] of sendsBy(script, sends, ({ request }) => request.id).entries()) {
        const final = finals[i]
        expect(own.map(({ attempt }) => attempt)).toEqual(own.map((_, n) => n))
        for (const [n, send] of own.entries()) {
          const next = own[n + 1]
          if (next !== undefined) expect(next.at).toBeGreaterThanOrEqual(endOf(send))
        }
        const last = own.at(-1)
        if (last !== undefined) expect(final?.at).toBeGreaterThanOrEqual(endOf(last))
        expect(final?.attempts).toBe(own.length)
      }
    })
  })

  it('ATTEMPT-5: no attempt follows one that booked, or that could have and cannot be repeated', () => {
    forAll((script) => {
      const { sends } = runSessionScript(script)
      for (const own of sendsBy(script, sends, ({ request }) => request.id)) {
        const { idempotencyKeySupported, lookupSupported } = policyOf(script, own)
        for (const { of, attempt } of own.slice(0, -1)) {
          const { outcome } = attemptOf(of, attempt)
          expect(outcome.type).not.toBe('booked')
          if (outcome.type !== 'unknown' || idempotencyKeySupported) continue
          expect([lookupSupported, outcome.lookup]).toEqual([true, 'not_booked'])
        }
      }
    })
  })

  it('ATTEMPT-4: every job ends, is tried once at least unless cancelled, and not after its window', () => {
    forAll((script) => {
      const { sends, finals } = runSessionScript(script)
      for (const [i, own] of sendsBy(script, sends, ({ request }) => request.id).entries()) {
        const { request, cancelAt } = script.jobs[i] as ScriptJob
        const first = own[0]?.at
        if (first === undefined) {
          expect(finals[i]).toMatchObject({ status: 'CANCELED', at: cancelAt })
          continue
        }
        expect(first).toBeGreaterThanOrEqual(request.scheduledTime)
        const lastStart = Math.max(request.scheduledTime, first) + policyOf(script, own).windowMs
        for (const { at } of own.slice(1)) expect(at).toBeLessThanOrEqual(lastStart)
      }
    })
  })
})

describe('sessions, after a restart', () => {
  it('DISPATCH-7: whoever goes on with the state decides alike', () => {
    forAll((script) => {
      const restarted = runSessionScript(script, {
        afterInstant: (dispatch) =>
          new SessionDispatch(script.rows, { state: JSON.parse(JSON.stringify(dispatch.state())) }),
      })
      expect(restarted).toEqual(runSessionScript(script))
    })
  })

  it('DISPATCH-7: what was touched is all that has to be stored', () => {
    forAll((script) => {
      const disk = new Disk()
      const stored = runSessionScript(script, {
        start: (rows) => new SessionDispatch(rows, { touch: disk }),
        afterInstant: (dispatch) => {
          const state = disk.write(dispatch.state())
          return new SessionDispatch(script.rows, { state, touch: disk })
        },
      })
      expect(stored).toEqual(runSessionScript(script))
    })
  })
})

/** Keeps the rows of what was touched, and nothing else. */
class Disk {
  readonly #jobs = new Map<string, string>()
  readonly #orgs = new Map<string, string>()
  readonly #touched = { jobs: new Set<DispatchJob>(), orgs: new Set<OrgDispatch>() }

  readonly job = (job: DispatchJob): void => {
    this.#touched.jobs.add(job)
  }

  readonly org = (org: OrgDispatch): void => {
    this.#touched.orgs.add(org)
  }

  /** Those who wait are written anew by their ranks alone: one row a group would do. */
  readonly opened = (places: readonly SessionJob[]): void => {
    for (const entry of places) {
      const row = this.#jobs.get(entry.id)
      if (row !== undefined) this.#jobs.set(entry.id, JSON.stringify({ ...JSON.parse(row), entry }))
    }
  }

  readonly group = (): void => {}

  write({ nowMs, groups }: SessionDispatchState): SessionDispatchState {
    for (const job of this.#touched.jobs) {
      const { entry, end } = job
      const row = { entry, state: dispatchJobState(job) }
      if (end === null) this.#jobs.set(entry.id, JSON.stringify(row))
      else this.#jobs.delete(entry.id)
    }
    for (const org of this.#touched.orgs) {
      this.#orgs.set(JSON.stringify([org.platform, org.orgRef]), JSON.stringify(org.state()))
    }
    this.#touched.jobs.clear()
    this.#touched.orgs.clear()
    const rows = (texts: Iterable<string>) => [...texts].map((text) => JSON.parse(text))
    return { nowMs, groups, jobs: rows(this.#jobs.values()), orgs: rows(this.#orgs.values()) }
  }
}

function isReady(job: DispatchJob | undefined, at: number): boolean {
  if (job === undefined || job.sentAt !== null) return false
  return (job.retryAt ?? job.entry.sendAt ?? Infinity) <= at
}

function laneOf({ entry }: DispatchJob): string {
  return JSON.stringify([entry.platform, entry.orgRef, entry.eventId])
}

function endOf({ at, of, attempt }: ScriptSend & { of: ScriptJob }): number {
  return at + attemptOf(of, attempt).serviceMs
}

/** The policy of sends that have their platform in common. */
function policyOf({ rows }: SessionScript, sends: readonly { of: ScriptJob }[]): PlatformPolicy {
  return platformPolicy(sends[0]?.of.request.platform ?? '', rows)
}

/** Without weights, and without the 429s that would hold single sessions back. */
function withoutThrottling({ rows, jobs }: SessionScript): SessionScript {
  const unweighted = Object.entries(rows).map(([name, row]) => [name, { ...row, weights: null }])
  return {
    rows: Object.fromEntries(unweighted),
    jobs: jobs.map((job) => ({
      ...job,
      attempts: job.attempts.map(({ serviceMs, outcome }) => ({
        serviceMs,
        outcome:
          outcome.type === 'refused' && outcome.http === 429
            ? { type: 'refused' as const, http: 503 }
            : outcome,
      })),
    })),
  }
}
