import {
  compareInSession,
  compareSessions,
  minSpacingMs,
  type SessionJob,
  SessionRanks,
  type SessionRequest,
  sessionUser,
} from '@fairlead/core/internal'
import { type Json, suite } from '../suite.ts'

/** §13: the order in a session, ranks and send times. */
export const sessionOrder = suite(({ providers, steps, until }) => {
  const spacings = spacingsOf(providers)
  const ranks = new SessionRanks((platform) => minSpacingMs(platform, spacings))
  const jobs = new Map<string, SessionJob>()
  const cancelled = new Set<SessionJob>()
  for (const step of steps) {
    ranks.advance(step.at)
    if (step.op === 'join') {
      jobs.set(step.job.job_id, ranks.join(sessionRequest(step.job)))
      continue
    }
    if (step.op !== 'cancel') throw new TypeError(`unknown op ${step.op}`)
    const job = jobs.get(step.job_id)
    if (job === undefined) continue
    ranks.cancel(job)
    cancelled.add(job)
  }
  ranks.advance(until)
  return {
    sessions: sessionsOf([...jobs.values()], cancelled),
    jobs: [...jobs.values()].map(({ id, tieBreaker, rank, sendAt }) => ({
      job_id: id,
      tie_breaker: tieBreaker,
      rank,
      send_at: sendAt,
    })),
  }
})

function sessionsOf(jobs: SessionJob[], cancelled: ReadonlySet<SessionJob>): Json {
  const heads = jobs
    .toSorted(compareSessions)
    .filter((job, i, all) => i === 0 || compareSessions(all[i - 1] as SessionJob, job) !== 0)
  return heads.map((head) => ({
    provider: head.platform,
    org_ref: head.orgRef,
    event_id: head.eventId,
    order: jobs
      .filter((job) => compareSessions(job, head) === 0 && !cancelled.has(job))
      .sort(compareInSession)
      .map(({ id }) => id),
  }))
}

/** A registration as the vectors describe one. */
export function sessionRequest(json: Json): SessionRequest {
  return {
    id: json.job_id,
    platform: json.provider,
    orgRef: json.org_ref,
    eventId: json.event_id,
    ...sessionUser(json.user_id, json.scheduled_time, json.event_id),
    scheduledTime: json.scheduled_time,
  }
}

function spacingsOf(providers: Json): Record<string, number> {
  const rows = Object.entries<Json>(providers)
    .filter(([, row]) => row.min_spacing_ms !== undefined)
    .map(([name, row]) => [name, row.min_spacing_ms])
  return Object.fromEntries(rows)
}
