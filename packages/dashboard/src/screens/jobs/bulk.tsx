import type { FairleadError, ResultOf, WireEvent } from '@fairlead/client'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { hrefOf } from '../../app/route.ts'
import { line } from '../../data/line.ts'
import { newOperationId } from '../../data/operation-id.ts'
import { may } from '../../data/rights.ts'
import { Failure } from '../../parts/answer.tsx'
import { Status } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import type { JobFilter } from '../../parts/filter/filter.ts'
import { Table } from '../../parts/table/table.tsx'
import { countText, plural } from '../../text/numbers.ts'

type Action = 'cancel' | 'retry'
type Counts = NonNullable<ResultOf<'aicf.cancelJobs'>['counts']>

const METHODS = { cancel: 'aicf.cancelJobs', retry: 'aicf.retryJobs' } as const
const TITLES = { cancel: 'Cancel all that fit', retry: 'Retry all that fit' } as const
const VERBS = { cancel: 'Cancel', retry: 'Retry' } as const
const PAST = { cancel: 'cancelled', retry: 'enqueued again' } as const

/** One action on all jobs that fit a filter: count, confirm, watch. */
export function Bulk(props: {
  readonly action: Action
  readonly filter: JobFilter
  readonly isOff: boolean
}): JSX.Element {
  const { action, filter, isOff } = props
  const [isOpen, setOpen] = useState(false)
  const isEmpty = Object.keys(filter).length === 0
  return (
    <>
      <button
        type="button"
        disabled={isOff || isEmpty}
        title={isOff || isEmpty ? 'Write a filter first' : ''}
        onClick={() => setOpen(true)}
      >
        {VERBS[action]} all …
      </button>
      {isOpen ? <Steps action={action} filter={filter} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

function Steps(props: {
  readonly action: Action
  readonly filter: JobFilter
  readonly onClose: () => void
}): JSX.Element {
  const { action, filter, onClose } = props
  const [counts, setCounts] = useState<Counts | null>(null)
  const [operation, setOperation] = useState<string | null>(null)
  const [error, setError] = useState<FairleadError | null>(null)
  const method = METHODS[action]
  const shown = JSON.stringify(filter)
  useEffect(() => {
    line
      .call(method, { filter: filter as never, dry_run: true })
      .then((answer) => setCounts(answer.counts), setError)
  }, [shown])
  const eligible = (counts ?? []).reduce((sum, one) => sum + one.eligible, 0)
  const begin = (): void => {
    const id = newOperationId()
    setError(null)
    setOperation(id)
    line
      .call(method, { filter: filter as never, operation_id: id })
      .catch((problem: FairleadError) => {
        setError(problem)
        setOperation(null)
      })
  }
  return (
    <Dialog title={TITLES[action]} onClose={onClose}>
      <p>
        Filter: <code>{shown}</code>
      </p>
      {error === null ? null : <Failure error={error} />}
      {operation !== null ? (
        <Progress id={operation} action={action} of={eligible} />
      ) : counts === null ? (
        <p role="status">Counting …</p>
      ) : (
        <Counted counts={counts} action={action} />
      )}
      <div class="actions">
        <button type="button" onClick={onClose}>
          {operation === null ? 'Leave it' : 'Close'}
        </button>
        {operation === null ? (
          <button
            type="button"
            class={action === 'cancel' ? 'danger' : 'primary'}
            disabled={eligible === 0}
            onClick={begin}
          >
            {VERBS[action]} {plural(eligible, 'job')}
          </button>
        ) : null}
      </div>
    </Dialog>
  )
}

function Counted({
  counts,
  action,
}: {
  readonly counts: Counts
  readonly action: Action
}): JSX.Element {
  if (counts.length === 0) return <p>No job fits, so there is nothing to do.</p>
  return (
    <>
      <p>This is a dry run: nothing has been touched.</p>
      <Table
        label="Jobs that fit"
        rows={counts}
        idOf={({ status }) => status}
        columns={[
          { title: 'Status', cell: ({ status }) => <Status of={status} /> },
          { title: 'Fit', isNumber: true, cell: ({ matches }) => countText(matches) },
          {
            title: `To be ${PAST[action]}`,
            isNumber: true,
            cell: ({ eligible }) => countText(eligible),
          },
        ]}
      />
    </>
  )
}

interface SoFar {
  readonly done: number
  readonly skipped: number
  readonly isOver: boolean
}

/** The operation goes on by itself: to close the dialog does not stop it. */
function Progress(props: {
  readonly id: string
  readonly action: Action
  readonly of: number
}): JSX.Element {
  const { id, action, of } = props
  const [{ done, skipped, isOver }, set] = useState<SoFar>({ done: 0, skipped: 0, isOver: false })
  useEffect(
    () =>
      line.onEvent((event: WireEvent) => {
        if (event.type !== 'bulkProgress' && event.type !== 'bulkEnded') return
        if (event.subject !== id) return
        set({ done: event.done, skipped: event.skipped, isOver: event.type === 'bulkEnded' })
      }),
    [id],
  )
  const text = `${plural(done, 'job')} ${PAST[action]}${skipped === 0 ? '' : `, ${countText(skipped)} left as they are`}`
  return (
    <div class="stack tight" data-bulk={isOver ? 'over' : 'running'}>
      <progress
        value={done + skipped}
        max={Math.max(1, of, done + skipped)}
        aria-label={TITLES[action]}
      />
      <p role="status">{isOver ? `Done: ${text}.` : `${text} so far.`}</p>
      <p class="muted">
        Operation <code>{id}</code>.{' '}
        {isOver ? 'It is in the audit log.' : 'It goes on if you close this.'}{' '}
        {may('audit.list') ? <a href={hrefOf('audit')}>Audit log</a> : null}
      </p>
    </div>
  )
}
