import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import { may } from '../../data/rights.ts'
import { useVerdict, type Verdict } from '../../data/verdict.ts'
import { Panel, Title } from '../../parts/panel.tsx'
import { durationText } from '../../text/duration.ts'
import { BlockerView } from '../waiting/blocker-view.tsx'
import { Busiest } from './busiest.tsx'
import { Rates } from './rates.tsx'

const WORDS: Readonly<Record<Verdict['status'], string>> = {
  fine: 'Fine',
  held: 'Work is held up',
  failing: 'The server has a problem',
  unknown: 'Unknown',
}
const DOTS = { fine: 'good', held: 'warn', failing: 'bad', unknown: 'unknown' } as const

/** Is it fine, and if not, why? */
export function OverviewScreen(): JSX.Element {
  const { status, text, ageMs, verdict } = useVerdict()
  return (
    <>
      <Title text="Overview" />
      <div class="stack">
        <section class={`verdict ${status}`} aria-label="Verdict" data-verdict={status}>
          <div class="row">
            <span class="word" role="status">
              <span class={`dot ${DOTS[status]}`} aria-hidden="true" />
              {WORDS[status]}
            </span>
            <span class="muted push">{ageMs === null ? '' : `Data ${ageText(ageMs)} old`}</span>
          </div>
          <p class="says">{text}</p>
          {status === 'unknown' || verdict === null || verdict.ruled_out.length === 0 ? null : (
            <div>
              <h2 class="muted">Looked at, and in order</h2>
              <ul class="columns muted">
                {verdict.ruled_out.map(({ check, text: says }) => (
                  <li key={check}>{says}</li>
                ))}
              </ul>
            </div>
          )}
        </section>
        {verdict === null || status === 'unknown' ? null : <Reasons verdict={verdict} />}
        {may('stats.get', 'stats.history') ? <Rates /> : null}
        {may('stats.get') ? <Busiest /> : null}
      </div>
    </>
  )
}

function ageText(ms: number): string {
  return durationText(ms < 1_000 ? Math.floor(ms / 100) * 100 : Math.floor(ms / 1_000) * 1_000)
}

function Reasons({ verdict }: { readonly verdict: Verdict }): JSX.Element | null {
  const { cause, problems } = verdict
  if (cause === null && problems.length === 0) return null
  return (
    <div class="grid">
      {problems.length === 0 ? null : (
        <Panel title="Problems of the server">
          <ul class="stack tight">
            {problems.map(({ check, text, advice }) => (
              <li key={check} class="notice bad">
                <span>
                  {text} {advice === null ? null : <span class="muted">{advice}</span>}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {cause === null ? null : (
        <Panel
          title="What holds up most"
          isFlush
          tools={<a href={hrefOf('waiting')}>All that waits</a>}
        >
          <BlockerView of={cause} />
        </Panel>
      )}
    </div>
  )
}
