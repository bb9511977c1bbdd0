import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { learnServerTime } from '../data/clock.ts'
import { type LineState, line } from '../data/line.ts'
import { may } from '../data/rights.ts'
import { useVerdict } from '../data/verdict.ts'
import { durationText } from '../text/duration.ts'
import { isHelpOpen } from './help.tsx'
import { isMenuOpen } from './nav.tsx'
import { hrefOf } from './route.ts'
import { Settings } from './settings.tsx'

const DOTS: Readonly<Record<string, string>> = {
  fine: 'good',
  held: 'warn',
  failing: 'bad',
  unknown: 'unknown',
}

const LINES: Readonly<Record<LineState, string>> = {
  connecting: 'Connecting …',
  live: 'Connected',
  lost: 'Not connected, trying again …',
  asleep: 'Asleep',
  refused: 'Refused',
}

export function Bar(): JSX.Element {
  return (
    <header class="bar">
      <button
        type="button"
        class="menu"
        aria-expanded={isMenuOpen.value}
        aria-controls="menu"
        onClick={() => {
          isMenuOpen.value = !isMenuOpen.value
        }}
      >
        Menu
      </button>
      <div class="says">{may('stats.verdict') ? <ShortVerdict /> : null}</div>
      <div class="tools">
        {line.isOutdated.value ? (
          <button type="button" class="small primary" onClick={() => location.reload()}>
            Reload: the server has a new version
          </button>
        ) : null}
        <Line />
        <Settings />
        <button
          type="button"
          class="quiet"
          aria-label="Keyboard and help"
          onClick={() => {
            isHelpOpen.value = true
          }}
        >
          ?
        </button>
      </div>
    </header>
  )
}

function ShortVerdict(): JSX.Element {
  const { status, text, verdict, live } = useVerdict()
  const { receivedAt } = live
  useEffect(() => {
    if (verdict !== null && receivedAt !== null) {
      learnServerTime(verdict.at + verdict.age_ms, receivedAt)
    }
  }, [verdict, receivedAt])
  return (
    <a class="state" href={hrefOf('')} title={text} style={{ maxWidth: '100%' }}>
      <span class={`dot ${DOTS[status]}`} aria-hidden="true" />
      <strong>{status}</strong>
      <span class="cut wide">{text}</span>
    </a>
  )
}

function Line(): JSX.Element {
  const state = line.state.value
  const { ageMs } = useVerdict()
  const isShown = state === 'live' && ageMs !== null
  const age = isShown ? `data ${durationText(Math.floor(ageMs / 100) * 100)} old` : ''
  return (
    <span class="state" data-line={state} role="status">
      <span class={state === 'live' ? 'wide' : ''}>{LINES[state]}</span>
      <span class="wide" aria-hidden="true" style={{ minWidth: '100px' }}>
        {age}
      </span>
    </span>
  )
}
