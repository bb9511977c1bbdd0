import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { attemptEnd } from '../../text/attempt-end.ts'
import { durationText } from '../../text/duration.ts'
import { words } from '../../text/ids.ts'
import { isToScale, placesOf } from './layout.ts'

type Span = ResultOf<'aicf.getTimeline'>['spans'][number]

/** The life of a job as stretches of time, one below the other. */
export function Waterfall(props: {
  readonly spans: readonly Span[]
  readonly at: number
}): JSX.Element {
  const { spans, at } = props
  const places = placesOf(spans, at)
  const kinds = [...new Set(spans.map(({ what }) => what))]
  return (
    <div>
      <ol class="fall" aria-label="Timeline">
        {spans.map((span, i) => {
          const { left = 0, width = 0 } = places[i] ?? {}
          const isFailed = span.ended !== null && span.ended !== 'completed'
          const isOpen = span.to === null
          return (
            <li key={`${span.from} ${span.what}`} class="piece">
              <span class="name">
                {nameOf(span)}
                {span.code === null ? null : <span class="bad"> {span.code}</span>}
              </span>
              <span class="track" aria-hidden="true">
                <span
                  class={`span ${isFailed ? 'failed' : span.what} ${isOpen ? 'open' : ''}`}
                  style={{ left: `${100 * left}%`, width: `${100 * width}%` }}
                />
              </span>
              <span class="number muted took">
                {durationText(span.ms)}
                {isOpen ? ' so far' : ''}
              </span>
            </li>
          )
        })}
      </ol>
      <p class="key" style={{ padding: '0 14px 10px' }}>
        {kinds.map((kind) => (
          <span key={kind}>
            <i class={kind} />
            {kind}
          </span>
        ))}
        {spans.some(({ ended }) => ended !== null && ended !== 'completed') ? (
          <span>
            <i class="failed" />
            ended early
          </span>
        ) : null}
        {isToScale(spans, at) ? null : (
          <span>The longest stretch is drawn shorter than it was.</span>
        )}
      </p>
    </div>
  )
}

function nameOf({ what, reason, attempt, provider_id, ended }: Span): string {
  if (what === 'waiting') return reason === null ? 'waiting' : `waiting: ${words(reason)}`
  const who = provider_id === null ? '' : ` · ${provider_id.replace(/^provider:/, '')}`
  const which = attempt === null ? '' : ` · attempt ${attempt}`
  const how = ended === null || ended === 'completed' ? '' : ` · ${attemptEnd(ended)}`
  return `${what}${which}${who}${how}`
}
