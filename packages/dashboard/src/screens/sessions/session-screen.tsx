import type { RegistrationRecord, ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import type { ScreenProps } from '../../app/screens.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { JobLink } from '../../parts/id.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Empty, Facts, Figures, Panel, Title } from '../../parts/panel.tsx'
import { Table } from '../../parts/table/table.tsx'
import { Ago, Countdown, Time } from '../../parts/time.tsx'
import { words } from '../../text/ids.ts'
import { countText, plural, rateText, shareOf } from '../../text/numbers.ts'
import { byRank } from './by-rank.ts'
import { useRegistrations } from './use-registrations.ts'

type Session = ResultOf<'signup.getSession'>

const SHOWN = 200

/** One opening: the countdown, the line, the budget of its organisation, and success by place. */
export function SessionScreen({ rest }: ScreenProps): JSX.Element {
  const [provider = '', org_ref = '', event_id = ''] = rest
  const key = { provider, org_ref, event_id }
  const live = useLive(
    'signup.getSession',
    { ...key, limit: SHOWN },
    { everyMs: 500, on: ['openingSet'] },
  )
  return (
    <>
      <Title text={event_id} note={`${provider}, ${org_ref}`} />
      <Answer of={live}>
        {(data) => (
          <div class="stack">
            <div class="grid">
              <Opening of={data} />
              <Budget of={data} />
              {may('signup.list') ? <Success session={key} isOpen={data.session.is_open} /> : null}
            </div>
            <Queue of={data} />
          </div>
        )}
      </Answer>
    </>
  )
}

function Opening({ of }: { readonly of: Session }): JSX.Element {
  const { session } = of
  return (
    <Panel title={session.is_open ? 'It is open' : 'It opens in'}>
      <p class="countdown" role="timer">
        {session.is_open ? <Ago at={session.opens_at} /> : <Countdown to={session.opens_at} />}
      </p>
      <p class="muted">
        <Time at={session.opens_at} />
      </p>
      <Figures
        of={[
          ['Waiting', countText(session.waiting)],
          ['Under way', countText(session.in_flight)],
          ['Booked', countText(session.completed)],
          ['Failed', countText(session.failed)],
          ['Cancelled', countText(session.canceled)],
        ]}
      />
    </Panel>
  )
}

function Budget({ of }: { readonly of: Session }): JSX.Element {
  const key = of.dispatch_key
  return (
    <Panel title="What the organisation may send">
      <div class="stack tight">
        <Meter
          label={`${key.in_flight} of ${key.in_flight_max} calls under way`}
          parts={[{ kind: 'used', share: shareOf(key.in_flight, key.in_flight_max) }]}
        />
        <Facts
          of={[
            ['Under way', `${key.in_flight} of ${key.in_flight_max}`],
            [
              'Rate',
              `${rateText(key.rate_per_second)} a second, ${rateText(key.rate_configured)} configured`,
            ],
            ['Tokens left', `${key.tokens} of ${key.burst}`],
            ['Paused', key.paused_until === null ? 'no' : <Countdown to={key.paused_until} />],
            ['Answers in a minute', countText(key.answers)],
            ['429s among them', `${(100 * key.rate_429).toFixed(1)} %`],
            ['5xx among them', `${(100 * key.rate_5xx).toFixed(1)} %`],
            [
              'Clock of the site',
              key.clock_offset_ms === null ? 'not measured' : `${key.clock_offset_ms} ms off ours`,
            ],
          ]}
        />
        <p class="muted">{of.order}</p>
      </div>
    </Panel>
  )
}

type Key = { readonly provider: string; readonly org_ref: string; readonly event_id: string }

function Success({
  session,
  isOpen,
}: {
  readonly session: Key
  readonly isOpen: boolean
}): JSX.Element {
  const { registrations, isWhole } = useRegistrations(session, isOpen)
  const groups = byRank(registrations as readonly RegistrationRecord[])
  return (
    <Panel title="Success by place">
      {groups.length === 0 ? (
        <p class="muted">Places are drawn up when it opens.</p>
      ) : (
        <div class="ranks">
          {groups.map(({ from, to, people, booked, waitlisted, failed, pending }) => (
            <>
              <span key={`${from}a`}>
                {from}–{to}
              </span>
              <Meter
                key={`${from}b`}
                label={`Places ${from} to ${to}: ${booked} booked, ${waitlisted} on the waitlist, ${failed} failed, ${pending} pending`}
                parts={[
                  { kind: 'used', share: shareOf(booked, people) },
                  { kind: 'held', share: shareOf(waitlisted, people) },
                ]}
              />
              <span key={`${from}c`} class="number">
                {booked} of {people}
              </span>
            </>
          ))}
        </div>
      )}
      {isWhole ? null : (
        <p class="muted">The first {plural(registrations.length, 'registration')} only.</p>
      )}
    </Panel>
  )
}

function Queue({ of }: { readonly of: Session }): JSX.Element {
  return (
    <Panel
      title="The line"
      isFlush
      tools={
        of.others === 0 ? null : (
          <span class="muted">{plural(of.others, 'entry', 'entries')} of others are not shown</span>
        )
      }
    >
      {of.queue.length === 0 ? (
        <Empty>
          <p>Nobody is in line any more.</p>
        </Empty>
      ) : (
        <Table
          label="The line"
          rows={of.queue}
          idOf={({ reference }) => reference}
          columns={[
            { title: 'Place', isNumber: true, cell: ({ place }) => countText(place) },
            { title: 'Rank', isNumber: true, cell: ({ rank }) => (rank === null ? '–' : rank + 1) },
            { title: 'Reference', cell: ({ reference }) => reference },
            { title: 'Job', cell: ({ task_id }) => <JobLink id={task_id} /> },
            {
              title: 'State',
              cell: ({ state }) => (
                <Badge tone={state === 'waiting' ? 'plain' : 'busy'}>{words(state)}</Badge>
              ),
            },
            {
              title: 'First attempt',
              cell: ({ send_at }) => (send_at === null ? '–' : <Ago at={send_at} />),
            },
            { title: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts },
            {
              title: 'Next try',
              cell: ({ retry_at }) => (retry_at === null ? '–' : <Ago at={retry_at} />),
            },
            { title: 'In line since', cell: ({ queued_at }) => <Time at={queued_at} /> },
          ]}
        />
      )}
    </Panel>
  )
}
