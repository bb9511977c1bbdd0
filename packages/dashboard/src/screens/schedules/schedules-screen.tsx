import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import { line } from '../../data/line.ts'
import { useLive } from '../../data/live.ts'
import { newOperationId } from '../../data/operation-id.ts'
import { zone } from '../../data/preferences.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { termText } from '../../parts/filter/filter.ts'
import { CallerLink, JobLink } from '../../parts/id.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { usePages } from '../../parts/table/pager.tsx'
import { Table } from '../../parts/table/table.tsx'
import { Ago, Time } from '../../parts/time.tsx'
import { timeText } from '../../text/times.ts'

type Schedule = ResultOf<'schedules.list'>['schedules'][number]

/** What is enqueued by the clock, and when next. */
export function SchedulesScreen(): JSX.Element {
  const { page, pager } = usePages()
  const live = useLive('schedules.list', page, {
    on: ['schedulePut', 'scheduleDeleted'],
    everyMs: 900,
  })
  return (
    <>
      <Title
        text="Schedules"
        note={`Times are in ${zone.value}; the next one also in the zone of its schedule.`}
      />
      <Answer of={live}>
        {({ schedules, cursor: next }) => (
          <Panel title="Schedules" isFlush>
            {schedules.length === 0 ? (
              <Empty>
                <p>There is no schedule yet. Put one:</p>
                <code>{`fairlead schedules put nightly --cron '0 3 * * *' --timezone Europe/Berlin task report '{}'`}</code>
              </Empty>
            ) : (
              <Schedules of={schedules} />
            )}
            {pager(next)}
          </Panel>
        )}
      </Answer>
    </>
  )
}

function Schedules({ of }: { readonly of: readonly Schedule[] }): JSX.Element {
  return (
    <Table
      label="Schedules"
      rows={of}
      idOf={({ id, caller }) => `${caller} ${id}`}
      columns={[
        { title: 'Schedule', cell: ({ id }) => <Name id={id} /> },
        { title: 'Caller', cell: ({ caller }) => <CallerLink id={caller} /> },
        { title: 'Work', cell: ({ request }) => workOf(request) },
        { title: 'Cron', cell: ({ cron }) => <code>{cron}</code> },
        {
          title: 'State',
          cell: ({ paused }) =>
            paused ? <Badge tone="warn">paused</Badge> : <Badge tone="good">on</Badge>,
        },
        { title: 'Next', isWrapped: true, cell: (schedule) => <Next of={schedule} /> },
        {
          title: 'Last',
          isWrapped: true,
          cell: ({ last_at, last_task_id }) => (
            <>
              {last_at === null ? 'never' : <Time at={last_at} />}{' '}
              {last_task_id === null || !may('aicf.getJob') ? null : <JobLink id={last_task_id} />}
            </>
          ),
        },
        {
          title: 'Overlap',
          isWrapped: true,
          cell: ({ overlap, catch_up }) => `${overlap}, catch up ${catch_up}`,
        },
        { title: 'Actions', cell: (schedule) => <Actions of={schedule} /> },
      ]}
    />
  )
}

/** Leads to the jobs that it has enqueued. */
function Name({ id }: { readonly id: string }): JSX.Element {
  if (!may('aicf.listJobs')) return <>{id}</>
  return <a href={hrefOf('jobs', [], { filter: termText('schedule', id) })}>{id}</a>
}

function workOf(request: Schedule['request']): string {
  const { kind, payload } = request as {
    kind?: string
    payload?: { name?: string; model?: string }
  }
  return `${kind ?? ''} ${payload?.name ?? payload?.model ?? ''}`
}

function Next({ of }: { readonly of: Schedule }): JSX.Element {
  const { next_at, timezone } = of
  if (next_at === null) return <span class="muted">none</span>
  const there = timezone === zone.value ? '' : `, ${timeText(next_at, timezone)} in ${timezone}`
  return (
    <>
      <Time at={next_at} />{' '}
      <span class="muted">
        <Ago at={next_at} />
        {there}
      </span>
    </>
  )
}

function Actions({ of }: { readonly of: Schedule }): JSX.Element {
  const { id, caller, paused } = of
  const key = { id, caller }
  const isOwn = line.who.value?.caller === caller
  const { cron, timezone, overlap, catch_up, request } = of
  const put = { id, cron, timezone, overlap, catch_up, request, ...(isOwn ? {} : { caller }) }
  return (
    <span class="row actions">
      {may('schedules.trigger') ? (
        <Action
          label="Run now"
          done={`${id} has enqueued its job.`}
          run={() => line.call('schedules.trigger', { ...key, idempotency_key: newOperationId() })}
        />
      ) : null}
      {may('schedules.put') ? (
        <Action
          label={paused ? 'Resume' : 'Pause'}
          done={paused ? `${id} goes on.` : `${id} is paused.`}
          run={() => line.call('schedules.put', { ...put, paused: !paused } as never)}
        />
      ) : null}
      {may('schedules.delete') ? (
        <Action
          label="Delete"
          isDanger
          done={`${id} is deleted.`}
          question={
            <p>Jobs that it has enqueued stay. It cannot be brought back, only put again.</p>
          }
          run={() => line.call('schedules.delete', key)}
        />
      ) : null}
    </span>
  )
}
