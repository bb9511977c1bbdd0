import type { ResultOf } from '@fairlead/client'
import { durationText } from '../text/duration.ts'
import { tick } from './clock.ts'
import { line } from './line.ts'
import { type Live, useLive } from './live.ts'

export type Verdict = ResultOf<'stats.verdict'>

export interface Judged {
  readonly status: Verdict['status']
  readonly text: string
  readonly ageMs: number | null
  readonly verdict: Verdict | null
  readonly live: Live<Verdict>
}

/** Without a connection it is known that no newer answer is on its way. */
const ALONE_MS = 2_000

/** The verdict of the server, or "unknown" as soon as it is older than the server says that it counts. */
export function useVerdict(): Judged {
  const live = useLive('stats.verdict', {}, { everyMs: 900 })
  const { data, receivedAt, error } = live
  if (data === null || receivedAt === null) {
    const text = error === null ? 'Nothing is known yet.' : `Nothing is known: ${error.message}`
    return { status: 'unknown', text, ageMs: null, verdict: null, live }
  }
  const ageMs = Math.max(0, tick.value - receivedAt) + data.age_ms
  const isLive = line.state.value === 'live'
  if (ageMs <= (isLive ? data.valid_ms : Math.min(data.valid_ms, ALONE_MS))) {
    return { status: data.status, text: data.text, ageMs, verdict: data, live }
  }
  const why = isLive ? 'The server does not answer' : 'There is no connection'
  const text = `${why}. The newest data is ${durationText(seconds(ageMs))} old.`
  return { status: 'unknown', text, ageMs, verdict: data, live }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000
}
