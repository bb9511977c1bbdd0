import type { ExplanationRecord } from '@fairlead/client'
import type { JSX } from 'preact'
import type { Live } from '../../data/live.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { ProviderLink } from '../../parts/id.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { Table } from '../../parts/table/table.tsx'
import { Countdown } from '../../parts/time.tsx'
import { refusalWords, words } from '../../text/ids.ts'
import { countText } from '../../text/numbers.ts'

type Waiting = NonNullable<ExplanationRecord['waiting']>

/** Why it waits, or why it went where it went: in words, and as the table of checks. */
export function ExplainPanel({ live }: { readonly live: Live<ExplanationRecord> }): JSX.Element {
  return (
    <Panel title="Why" isFlush>
      <Answer of={live}>
        {({ text, waiting }) => (
          <>
            <Scroll class="text words" label="Explanation">
              {text.split('\n').map((sentence, i) => (
                // Sentences have no name but their place.
                <p key={`${i} ${sentence.slice(0, 20)}`}>{sentence}</p>
              ))}
            </Scroll>
            {waiting === null ? null : <Checks of={waiting} />}
          </>
        )}
      </Answer>
    </Panel>
  )
}

function Checks({ of }: { readonly of: Waiting }): JSX.Element {
  const { place, of: all, score, terms, fairness, providers, earliest_at } = of
  return (
    <div class="stack tight">
      <div style={{ padding: '0 14px' }}>
        <Facts
          of={[
            ['Place', `${countText(place)} of ${countText(all)}`],
            ['Earliest start', earliest_at === null ? 'not known' : <Countdown to={earliest_at} />],
            [
              'Order',
              fairness === 'tenant'
                ? `fair shares, priority ${of.priority}`
                : `score ${score}: fee ${terms.fee}, size ${terms.size}, tier ${terms.tier}, age ${terms.age_secs} s`,
            ],
          ]}
        />
      </div>
      {providers.length === 0 ? (
        <p class="empty">No provider is registered that could be asked.</p>
      ) : (
        <Table
          label="Checks by provider"
          rows={providers}
          idOf={({ provider_id }) => provider_id}
          columns={[
            { title: 'Provider', cell: ({ provider_id }) => <ProviderLink id={provider_id} /> },
            {
              title: 'First check that fails',
              cell: ({ refusal, slots }) =>
                refusal === null ? (
                  <Badge tone="good">would fit</Badge>
                ) : (
                  <Badge tone="warn">{refusalWords(refusal, slots)}</Badge>
                ),
            },
            { title: 'Slots', isNumber: true, cell: ({ slots }) => slots },
            {
              title: 'Until',
              isNumber: true,
              cell: ({ until }) => (until === null ? '–' : <Countdown to={until} />),
            },
            {
              title: 'More',
              isWrapped: true,
              cell: ({ limit, advice }) =>
                limit === null
                  ? advice
                  : `${limit.key}: ${words(limit.reason)}, needs ${countText(limit.amount)}`,
            },
          ]}
        />
      )}
    </div>
  )
}
