import { type AuditEntry, hasEnded, type JobRow, type LeaseRow } from '@fairlead/core'
import type { SpanRecord } from '@fairlead/protocol'

interface Told {
  readonly row: JobRow
  /** Oldest first. */
  readonly leases: readonly LeaseRow[]
  /** The journal entries about the job that were not deleted. */
  readonly timeline: readonly AuditEntry[]
  readonly now: number
}

/** The life of a job as stretches of time: waiting, and the attempts, each offered and then running. */
export function spanRecords({ row, leases, timeline, now }: Told): SpanRecord[] {
  const spans = new Spans(now)
  let waitsFrom = row.enqueueTs
  let notBefore = row.options?.runAt ?? null
  let held: 'scheduled' | 'backoff' = 'scheduled'
  for (const lease of leases) {
    spans.waiting({ from: waitsFrom, to: lease.tStart, until: notBefore, held })
    const course = courseOf(lease, timeline, row)
    spans.attempt(lease, course)
    waitsFrom = course.endedAt ?? now
    notBefore = course.notBefore
    held = 'backoff'
  }
  const { status, endedAt, proofAwaitedSince } = row
  if (status === 'QUEUED') {
    spans.waiting({ from: waitsFrom, to: null, until: row.notBefore ?? notBefore, held })
  } else if (hasEnded(status) && endedAt !== null && endedAt > waitsFrom) {
    const last = leases.at(-1)
    if (last?.status !== 'COMPLETED') {
      spans.waiting({ from: waitsFrom, to: endedAt, until: notBefore, held })
    } else spans.proof(last, waitsFrom, endedAt)
  } else if (proofAwaitedSince !== null) {
    spans.proof(leases.at(-1) ?? null, proofAwaitedSince, null)
  }
  return spans.all
}

/** When an attempt was acked and when it ended; null for what has not happened. */
interface Course {
  readonly ackedAt: number | null
  readonly endedAt: number | null
  readonly ended: string | null
  readonly code: string | null
  /** The end of the backoff that followed. */
  readonly notBefore: number | null
}

function courseOf(lease: LeaseRow, timeline: readonly AuditEntry[], row: JobRow): Course {
  const of = (action: string) =>
    timeline.find((entry) => entry.action === action && entry.details['leaseId'] === lease.id)
  const cancelled = timeline.find(
    ({ action, subject }) => action === 'leaseCancelled' && subject === lease.id,
  )
  const ackedAt = of('jobStarted')?.at ?? (lease.isAcked ? lease.tStart : null)
  const after = (at: number) =>
    timeline.find((entry) => entry.action === 'jobRequeued' && entry.at >= at)
  if (lease.status === 'COMPLETED') {
    const endedAt = row.proofAwaitedSince ?? of('jobCompleted')?.at ?? row.endedAt
    return { ackedAt: ackedAt ?? endedAt, endedAt, ended: 'completed', code: null, notBefore: null }
  }
  if (lease.status === 'ACTIVE' || lease.status === 'RENEWED') {
    return { ackedAt, endedAt: null, ended: null, code: null, notBefore: null }
  }
  const isExpired = lease.status === 'EXPIRED'
  const end =
    lease.timeoutAt === null ? lease.tDeadline : Math.min(lease.timeoutAt, lease.tDeadline)
  const endedAt = isExpired ? end : (cancelled?.at ?? row.endedAt ?? lease.tStart)
  const notBefore = after(endedAt)?.details['notBefore']
  const reason = cancelled?.details['reason']
  const code = cancelled?.details['code']
  return {
    ackedAt,
    endedAt,
    ended: isExpired ? 'expired' : typeof reason === 'string' ? reason : 'cancelled',
    code: typeof code === 'string' ? code : null,
    notBefore: typeof notBefore === 'number' ? notBefore : null,
  }
}

class Spans {
  readonly all: SpanRecord[] = []
  readonly #now: number

  constructor(now: number) {
    this.#now = now
  }

  /** `to` is null for a job that still waits; `until` is when it could go at the earliest. */
  waiting(span: {
    readonly from: number
    readonly to: number | null
    readonly until: number | null
    readonly held: 'scheduled' | 'backoff'
  }): void {
    const { from, to, until, held } = span
    const end = to ?? this.#now
    const heldTo = until === null ? from : Math.min(until, end)
    const isHeldOn = to === null && until !== null && until > end
    if (heldTo > from) {
      this.#add({ what: 'waiting', reason: held, from, to: isHeldOn ? null : heldTo })
    }
    const rest = Math.max(from, heldTo)
    if (!isHeldOn) this.#add({ what: 'waiting', from: rest, to })
  }

  attempt({ attempt, providerId, tStart }: LeaseRow, course: Course): void {
    const { ackedAt, endedAt, ended, code } = course
    const own = { attempt, provider_id: providerId }
    if (ackedAt === null) {
      this.#add({ what: 'offered', ...own, from: tStart, to: endedAt, ended, code })
      return
    }
    this.#add({ what: 'offered', ...own, from: tStart, to: ackedAt })
    this.#add({ what: 'running', ...own, from: ackedAt, to: endedAt, ended, code })
  }

  proof(lease: LeaseRow | null, from: number, to: number | null): void {
    const own = { attempt: lease?.attempt ?? null, provider_id: lease?.providerId ?? null }
    this.#add({ what: 'proof', ...own, from, to })
  }

  #add(span: Pick<SpanRecord, 'what' | 'from' | 'to'> & Partial<SpanRecord>): void {
    const ms = Math.max(0, (span.to ?? this.#now) - span.from)
    const nothing = { reason: null, attempt: null, provider_id: null, ended: null, code: null }
    this.all.push({ ...nothing, ...span, ms })
  }
}
