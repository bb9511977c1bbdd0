import type { SessionRecord } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import type { ResultOf } from '@fairlead/protocol'
import { table } from '../terminal/table.ts'

type Session = ResultOf<'signup.getSession'>

const right = (title: string) => ({ title, align: 'right' as const })

/** Sessions as a table. */
export function sessionsTable(sessions: readonly SessionRecord[], nowMs: number): string[] {
  return table(
    [
      { title: 'provider' },
      { title: 'organisation' },
      { title: 'event' },
      { title: 'opens' },
      ...['waiting', 'in flight', 'done', 'failed', 'canceled'].map(right),
    ],
    sessions.map((one) => [
      one.provider,
      one.org_ref,
      one.event_id,
      openingText(one.opens_at, nowMs),
      ...[one.waiting, one.in_flight, one.completed, one.failed, one.canceled].map(String),
    ]),
  )
}

/** One session: what is in it, what may be sent, and its queue. */
export function sessionText(
  { session, queue, others, dispatch_key, order }: Session,
  nowMs: number,
): string[] {
  const rows = queue.map(({ reference, place, rank, state, attempts, retry_at }) => [
    String(place),
    rank === null ? '' : String(rank),
    reference,
    retry_at === null ? state : `again ${inText(retry_at, nowMs)}`,
    String(attempts),
  ])
  const columns = [right('place'), right('rank'), { title: 'reference' }, { title: 'state' }]
  return [
    `${session.provider} ${session.org_ref} ${session.event_id}: ${openingText(session.opens_at, nowMs)}`,
    countsLine(session),
    keyLine(dispatch_key, nowMs),
    ...(rows.length === 0 ? [] : ['', ...table([...columns, right('attempts')], rows)]),
    ...(others === 0 ? [] : ['', `${others} more belong to others.`]),
    '',
    ...order.split('\n'),
  ]
}

/** One line, for watching. */
export function sessionLine({ session, dispatch_key }: Session, nowMs: number): string {
  const { in_flight, in_flight_max, rate_per_second, burst_used } = dispatch_key
  return `${openingText(session.opens_at, nowMs)}; ${countsLine(session)}; ${in_flight} of ${in_flight_max} in flight, ${rate_per_second}/s, burst ${percent(burst_used)} used`
}

function countsLine({ waiting, in_flight, completed, failed, canceled }: SessionRecord): string {
  return `${waiting} wait, ${in_flight} under way, ${completed} done, ${failed} failed, ${canceled} canceled`
}

function keyLine(key: Session['dispatch_key'], nowMs: number): string {
  const { in_flight, in_flight_max, rate_per_second, rate_configured, tokens, burst } = key
  const parts = [
    `${in_flight} of ${in_flight_max} attempts in flight`,
    `${rate_per_second} of ${rate_configured} a second`,
    `${tokens} of ${burst} tokens`,
    `429: ${percent(key.rate_429)}, 5xx: ${percent(key.rate_5xx)} of ${key.answers} answers in a minute`,
  ]
  if (key.paused_until !== null) parts.push(`paused, on ${inText(key.paused_until, nowMs)}`)
  const offset = key.clock_offset_ms
  if (offset !== null) {
    parts.push(`its clock is ${Math.abs(offset)} ms ${offset < 0 ? 'behind' : 'ahead'}`)
  }
  return `${key.org_ref} at ${key.provider}: ${parts.join('; ')}`
}

function openingText(opensAt: number, nowMs: number): string {
  if (opensAt > nowMs) return `opens ${inText(opensAt, nowMs)}`
  return `open for ${durationText(nowMs - opensAt)}`
}

function inText(at: number, nowMs: number): string {
  return `in ${durationText(Math.max(0, at - nowMs))}`
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}
