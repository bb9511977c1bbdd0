import type { JSX } from 'preact'
import { useLive } from '../../data/live.ts'
import { zone } from '../../data/preferences.ts'
import { Answer } from '../../parts/answer.tsx'
import { Empty, Panel } from '../../parts/panel.tsx'
import { PlainText } from '../../parts/scroll.tsx'
import { plural } from '../../text/numbers.ts'
import { clockText } from '../../text/times.ts'

/** The lines that its attempts have written. */
export function Log(props: { readonly id: string; readonly everyMs: number }): JSX.Element {
  const { id, everyMs } = props
  const live = useLive('aicf.getLogs', { task_id: id }, { everyMs })
  return (
    <Panel title="Log" isFlush>
      <Answer of={live}>
        {({ attempts }) =>
          attempts.every(({ lines }) => lines.length === 0) ? (
            <Empty>
              Its worker has written no lines. In a handler: <code>log('page 4 is done')</code>
            </Empty>
          ) : (
            attempts.map(({ attempt, dropped, lines }) => (
              <PlainText
                key={attempt}
                label={`Log of attempt ${attempt}`}
                text={[
                  ...(dropped === 0 ? [] : [`${plural(dropped, 'older line')} are gone`]),
                  ...lines.map(
                    ({ at, text }) => `${attempt}  ${clockText(at, zone.value)}  ${text}`,
                  ),
                ].join('\n')}
              />
            ))
          )
        }
      </Answer>
    </Panel>
  )
}
