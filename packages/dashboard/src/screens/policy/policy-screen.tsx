import type { ResultOf } from '@fairlead/client'
import { Fragment, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import { replaceQuery, route } from '../../app/route.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { Table } from '../../parts/table/table.tsx'
import { plural } from '../../text/numbers.ts'
import { valueText } from './put-path.ts'
import { SetPolicy } from './set-policy.tsx'

type Setting = ResultOf<'policy.describe'>['settings'][number]

/** Settings that only a market needs begin so. */
const OF_MARKET = [
  'economics.',
  'sla.',
  'proof.',
  'chain.',
  'queue.completion.',
  'registry.attestation',
  'registry.min_stake',
  'registry.unstake',
]

/** Every setting in force, with its default and what it is for. */
export function PolicyScreen(): JSX.Element {
  const live = useLive('policy.describe', {}, { everyMs: 0, on: ['policyChanged'] })
  const [edited, setEdited] = useState<Setting | null>(null)
  const { query } = route.value
  const text = query.get('filter') ?? ''
  const isOnlyChanged = query.get('changed') === '1'
  const put = (filter: string, changed: boolean): void =>
    replaceQuery({ filter, changed: changed ? '1' : null })
  return (
    <>
      <Title
        text="Policy"
        note="The rules in force. A change shows what it would do before it is put in force."
      />
      <Answer of={live}>
        {({ preset, settings }) => {
          const shown = settings
            .filter((one) => preset === 'fund' || !isOfMarket(one))
            .filter(({ path, purpose }) =>
              `${path} ${purpose}`.toLowerCase().includes(text.toLowerCase()),
            )
            .filter(({ is_default }) => !isOnlyChanged || !is_default)
          return (
            <div class="stack">
              <div class="row">
                <div class="filter">
                  <input
                    type="text"
                    data-filter
                    aria-label="Filter of settings"
                    placeholder="a word of a name or a purpose"
                    value={text}
                    onInput={(event) => put(event.currentTarget.value, isOnlyChanged)}
                  />
                </div>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={isOnlyChanged}
                    onChange={(event) => put(text, event.currentTarget.checked)}
                  />
                  Only what is not the default
                </label>
              </div>
              <Panel
                title={plural(shown.length, 'setting')}
                isFlush
                tools={<span class="muted">Preset {preset}</span>}
              >
                {shown.length === 0 ? (
                  <Empty>
                    <p>No setting fits.</p>
                  </Empty>
                ) : (
                  <Table
                    label="Settings"
                    rows={shown}
                    idOf={({ path }) => path}
                    columns={[
                      {
                        title: 'Setting',
                        isWrapped: true,
                        cell: ({ path }) => <Path of={path} />,
                      },
                      { title: 'Value', isWrapped: true, cell: (one) => <Value of={one} /> },
                      {
                        title: 'Default',
                        isWrapped: true,
                        cell: (one) => (
                          <span class="muted mono">{cut(valueText(one.default))}</span>
                        ),
                      },
                      { title: 'Purpose', isWrapped: true, cell: ({ purpose }) => purpose },
                      ...(may('policy.set')
                        ? [
                            {
                              title: 'Change',
                              cell: (one: Setting) => (
                                <button
                                  type="button"
                                  class="small"
                                  aria-label={`Change ${one.path}`}
                                  onClick={() => setEdited(one)}
                                >
                                  Change
                                </button>
                              ),
                            },
                          ]
                        : []),
                    ]}
                  />
                )}
              </Panel>
              {edited === null ? null : (
                <SetPolicy
                  of={edited}
                  preset={preset}
                  settings={settings}
                  onClose={() => setEdited(null)}
                />
              )}
            </div>
          )
        }}
      </Answer>
    </>
  )
}

function isOfMarket({ path, is_default }: Setting): boolean {
  return is_default && OF_MARKET.some((start) => path.startsWith(start))
}

/** Its parts stay whole where it takes several lines. */
function Path({ of }: { readonly of: string }): JSX.Element {
  const parts = of.split(/(?<=[._])/)
  return (
    <code>
      {parts.map((part, i) => (
        // A part may be there twice.
        <Fragment key={`${i} ${part}`}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </code>
  )
}

function Value({ of }: { readonly of: Setting }): JSX.Element {
  const text = valueText(of.value)
  return of.is_default ? (
    <span class="mono" title={text}>
      {cut(text)}
    </span>
  ) : (
    <span title={text}>
      <strong class="mono">{cut(text)}</strong> <Badge tone="busy">changed</Badge>
    </span>
  )
}

const SHOWN = 40

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
