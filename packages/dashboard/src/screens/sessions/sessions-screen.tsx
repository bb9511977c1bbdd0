import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import { useLive } from '../../data/live.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { Table } from '../../parts/table/table.tsx'
import { Ago, Time } from '../../parts/time.tsx'
import { countText } from '../../text/numbers.ts'

/** Openings, with how many are in line for each. */
export function SessionsScreen(): JSX.Element {
  const live = useLive('signup.listSessions', {}, { on: ['openingSet'] })
  return (
    <>
      <Title
        text="Sessions"
        note="Each opens at one moment, and everybody in its line is tried in order."
      />
      <Answer of={live}>
        {({ sessions }) => (
          <Panel title="Sessions" isFlush>
            {sessions.length === 0 ? (
              <Empty>
                <p>Nobody is in line. Put somebody there:</p>
                <code>
                  fairlead registrations schedule swimclub north beginners-tue person-1 --opens
                  2026-12-01T08:00:00Z
                </code>
              </Empty>
            ) : (
              <Table
                label="Sessions"
                rows={sessions}
                idOf={({ provider, org_ref, event_id }) => `${provider} ${org_ref} ${event_id}`}
                columns={[
                  {
                    title: 'Session',
                    cell: ({ provider, org_ref, event_id }) => (
                      <a href={hrefOf('sessions', [provider, org_ref, event_id])}>{event_id}</a>
                    ),
                  },
                  { title: 'Site', cell: ({ provider }) => provider },
                  { title: 'Organisation', cell: ({ org_ref }) => org_ref },
                  { title: 'Opens', cell: ({ opens_at }) => <Time at={opens_at} /> },
                  {
                    title: 'State',
                    cell: ({ is_open, opens_at }) =>
                      is_open ? (
                        <Badge tone="busy">open</Badge>
                      ) : (
                        <Badge>
                          <Ago at={opens_at} />
                        </Badge>
                      ),
                  },
                  { title: 'Waiting', isNumber: true, cell: ({ waiting }) => countText(waiting) },
                  {
                    title: 'Under way',
                    isNumber: true,
                    cell: ({ in_flight }) => countText(in_flight),
                  },
                  {
                    title: 'Booked',
                    isNumber: true,
                    cell: ({ completed }) => countText(completed),
                  },
                  { title: 'Failed', isNumber: true, cell: ({ failed }) => countText(failed) },
                  {
                    title: 'Cancelled',
                    isNumber: true,
                    cell: ({ canceled }) => countText(canceled),
                  },
                ]}
              />
            )}
          </Panel>
        )}
      </Answer>
    </>
  )
}
