import type { JSX } from 'preact'
import { serverNow } from '../data/clock.ts'
import { zone } from '../data/preferences.ts'
import { durationText } from '../text/duration.ts'
import { timeText } from '../text/times.ts'

/** A moment in the zone that the page is set to. */
export function Time({ at }: { readonly at: number }): JSX.Element {
  return (
    <time
      class="nowrap"
      dateTime={new Date(at).toISOString()}
      title={`${new Date(at).toISOString()}`}
    >
      {timeText(at, zone.value)}
    </time>
  )
}

/** How long ago, or in how long, by the clock of the server. */
export function Ago({ at }: { readonly at: number }): JSX.Element {
  const ms = serverNow() - at
  const text = ms >= 0 ? `${durationText(rounded(ms))} ago` : `in ${durationText(rounded(-ms))}`
  return (
    <time class="nowrap" dateTime={new Date(at).toISOString()} title={timeText(at, zone.value)}>
      {text}
    </time>
  )
}

/** What is left until a moment; nothing once it is over. */
export function Countdown({ to }: { readonly to: number }): JSX.Element {
  return <>{durationText(rounded(Math.max(0, to - serverNow())))}</>
}

/** Whole seconds: a clock that ticks in tenths is hard to read. */
function rounded(ms: number): number {
  return Math.max(0, Math.floor(ms / 1_000) * 1_000)
}
