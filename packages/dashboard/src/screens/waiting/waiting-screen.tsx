import type { JSX } from 'preact'
import { useLive } from '../../data/live.ts'
import { Answer } from '../../parts/answer.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { countText, plural } from '../../text/numbers.ts'
import { BlockerView, ChangeView } from './blocker-view.tsx'

/** Jobs that wait, by what holds them up. */
export function WaitingScreen(): JSX.Element {
  const live = useLive('stats.waiting', {}, { on: ['queuePaused', 'queueResumed'] })
  return (
    <>
      <Title
        text="Waiting"
        note="Jobs that have not begun, by the first thing that keeps them from it."
      />
      <Answer of={live}>
        {({ waiting, blockers, rest, sampled, change }) => (
          <div class="stack">
            {change === null ? null : (
              <Panel title="The one change that frees most">
                <ChangeView of={change} />
              </Panel>
            )}
            <Panel
              title={plural(waiting, 'waiting job')}
              isFlush
              tools={
                sampled === null ? null : (
                  <span class="muted">
                    Counts by reason are from a sample of {plural(sampled, 'group')}.
                  </span>
                )
              }
            >
              {blockers.length === 0 ? (
                <Empty>
                  <p>Nothing waits.</p>
                </Empty>
              ) : (
                blockers.map((one) => <BlockerView key={one.id} of={one} />)
              )}
              {rest === null ? null : (
                <p class="empty">
                  {countText(rest.jobs)} more wait for {plural(rest.blockers, 'other reason')}.
                </p>
              )}
            </Panel>
          </div>
        )}
      </Answer>
    </>
  )
}
