import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import { line } from '../../data/line.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { termText } from '../../parts/filter/filter.ts'
import { CallerLink } from '../../parts/id.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { Table } from '../../parts/table/table.tsx'
import { Ago } from '../../parts/time.tsx'
import { durationText } from '../../text/duration.ts'
import { countText, plural, rateText } from '../../text/numbers.ts'
import { PauseForm } from './pause-form.tsx'

type Answered = ResultOf<'queues.list'>
type Queue = Answered['queues'][number]
type Pause = Answered['pauses'][number]
/** Names the jobs of a pause as the wire does: what is not named is all. */
type Key = {
  readonly kind: Pause['kind']
  readonly name?: string
  readonly caller?: Pause['caller'] & string
}

/** Jobs by kind and name, with pause and resume. */
export function QueuesScreen(): JSX.Element {
  const live = useLive('queues.list', {}, { on: ['queuePaused', 'queueResumed'] })
  return (
    <>
      <Title
        text="Queues"
        note="Jobs by kind and name. A pause holds back what has not begun; what runs goes on."
      />
      <Answer of={live}>
        {({ queues, pauses }) => (
          <div class="stack">
            {pauses.length === 0 ? null : <Pauses of={pauses} />}
            <Panel title="Queues" isFlush tools={may('queues.pause') ? <PauseForm /> : null}>
              {queues.length === 0 ? (
                <Empty>
                  <p>
                    Nothing waits and nothing runs. A queue is here as soon as a job of its name is.
                  </p>
                </Empty>
              ) : (
                <Queues of={queues} pauses={pauses} />
              )}
            </Panel>
          </div>
        )}
      </Answer>
    </>
  )
}

function Queues(props: {
  readonly of: readonly Queue[]
  readonly pauses: readonly Pause[]
}): JSX.Element {
  const { of, pauses } = props
  const rate = (pick: (rates: NonNullable<Queue['per_second']>) => number) => (queue: Queue) =>
    queue.per_second === null ? '–' : rateText(pick(queue.per_second))
  return (
    <Table
      label="Queues"
      rows={of}
      idOf={({ kind, name }) => `${kind} ${name}`}
      columns={[
        { title: 'Queue', cell: (queue) => <Name of={queue} /> },
        { title: 'Waiting', isNumber: true, cell: ({ waiting }) => countText(waiting) },
        { title: 'Ready', isNumber: true, cell: ({ ready }) => countText(ready) },
        { title: 'Running', isNumber: true, cell: ({ running }) => countText(running) },
        {
          title: 'Oldest wait',
          isNumber: true,
          cell: ({ oldest_wait_ms }) =>
            oldest_wait_ms === null ? '–' : durationText(oldest_wait_ms),
        },
        { title: 'Enqueued /s', isNumber: true, cell: rate(({ enqueued }) => enqueued) },
        { title: 'Completed /s', isNumber: true, cell: rate(({ completed }) => completed) },
        { title: 'Failed /s', isNumber: true, cell: rate(({ failed }) => failed) },
        {
          title: 'State',
          cell: (queue) => <State of={queue} pauses={pauses} />,
        },
        { title: 'Pause', cell: (queue) => <Toggle of={queue} pauses={pauses} /> },
      ]}
    />
  )
}

function Name({ of }: { readonly of: Queue }): JSX.Element {
  const { kind, name } = of
  const filter =
    name === null ? termText('kind', kind) : `${termText('kind', kind)} ${termText('name', name)}`
  return (
    <a href={hrefOf('jobs', [], { filter })}>
      {kind}
      {name === null ? '' : ` ${name}`}
    </a>
  )
}

/** A paused queue says so even while it holds no ready job. */
function State(props: { readonly of: Queue; readonly pauses: readonly Pause[] }): JSX.Element {
  const { kind, name, held } = props.of
  const own = props.pauses.filter(
    (one) => one.kind === kind && (one.name === null || one.name === name),
  )
  const holding = held === 0 ? '' : `, ${countText(held)} held`
  if (own.some(({ caller }) => caller === null)) return <Badge tone="warn">paused{holding}</Badge>
  if (own.length === 0) return <Badge>open</Badge>
  return (
    <Badge tone="warn">
      paused for {plural(own.length, 'caller')}
      {holding}
    </Badge>
  )
}

function Toggle(props: {
  readonly of: Queue
  readonly pauses: readonly Pause[]
}): JSX.Element | null {
  const { of, pauses } = props
  const { kind, name } = of
  const key: Key = { kind, ...(name === null ? {} : { name }) }
  const isPaused = pauses.some(
    (one) => one.kind === kind && one.name === name && one.caller === null,
  )
  const who = `${kind}${name === null ? '' : ` ${name}`}`
  if (isPaused) {
    if (!may('queues.resume')) return null
    return (
      <Action label="Resume" done={`${who} goes on.`} run={() => line.call('queues.resume', key)} />
    )
  }
  if (!may('queues.pause')) return null
  return (
    <Action
      label="Pause"
      done={`${who} is paused.`}
      question={<p>Jobs of {who} stay queued until somebody resumes them. What runs goes on.</p>}
      run={() => line.call('queues.pause', key)}
    />
  )
}

function Pauses({ of }: { readonly of: readonly Pause[] }): JSX.Element {
  return (
    <Panel title="Pauses" isFlush>
      <Table
        label="Pauses"
        rows={of}
        idOf={({ kind, name, caller }) => `${kind} ${name} ${caller}`}
        columns={[
          { title: 'Kind', cell: ({ kind }) => kind },
          { title: 'Name', cell: ({ name }) => name ?? 'all' },
          {
            title: 'Caller',
            cell: ({ caller }) => (caller === null ? 'all' : <CallerLink id={caller} />),
          },
          { title: 'Since', cell: ({ paused_at }) => <Ago at={paused_at} /> },
          {
            title: 'Resume',
            cell: ({ kind, name, caller }) =>
              may('queues.resume') ? (
                <Action
                  label="Resume"
                  done="It goes on."
                  run={() =>
                    line.call('queues.resume', {
                      kind,
                      ...(name === null ? {} : { name }),
                      ...(caller === null ? {} : { caller }),
                    })
                  }
                />
              ) : null,
          },
        ]}
      />
    </Panel>
  )
}
