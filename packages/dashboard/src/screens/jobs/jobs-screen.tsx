import type { JobSummary } from '@fairlead/client'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { go, hrefOf, replaceQuery, route } from '../../app/route.ts'
import { serverNow } from '../../data/clock.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Failure } from '../../parts/answer.tsx'
import { Status } from '../../parts/badge.tsx'
import { parseFilter } from '../../parts/filter/filter.ts'
import { FilterBox } from '../../parts/filter/filter-box.tsx'
import { JobLink } from '../../parts/id.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { type ListColumn, VirtualList } from '../../parts/table/virtual-list.tsx'
import { Ago } from '../../parts/time.tsx'
import { words } from '../../text/ids.ts'
import { plural } from '../../text/numbers.ts'
import { Bulk } from './bulk.tsx'
import { useJobs } from './use-jobs.ts'

const COLUMNS: readonly ListColumn<JobSummary>[] = [
  { title: 'Job', px: 130, narrowLine: 1, cell: ({ task_id }) => <JobLink id={task_id} /> },
  { title: 'Status', px: 100, narrowLine: 1, cell: ({ status }) => <Status of={status} /> },
  { title: 'Name', px: 120, isWide: true, narrowLine: 2, cell: ({ name }) => name ?? '' },
  { title: 'Kind', px: 80, narrowLine: 2, cell: ({ kind }) => kind },
  {
    title: 'Enqueued',
    px: 110,
    isNumber: true,
    narrowLine: 1,
    cell: ({ timestamps }) => <Ago at={timestamps.enqueued * 1_000} />,
  },
  { title: 'Failures', px: 60, isNumber: true, narrowLine: 2, cell: ({ retries }) => retries },
  {
    title: 'Provider',
    px: 100,
    isWide: true,
    cell: ({ provider_id }) => provider_id?.replace(/^provider:/, '') ?? '',
  },
  {
    title: 'Reason',
    px: 120,
    isWide: true,
    cell: ({ reason }) => (reason === null ? '' : words(reason)),
  },
]

export function JobsScreen(): JSX.Element {
  const text = route.value.query.get('filter') ?? ''
  // Ages count from the moment at which the filter was written.
  const { filter, problem } = useMemo(() => parseFilter(text, serverNow()), [text])
  const jobs = useJobs(problem === null ? filter : null)
  const { live, rows, hasMore, more, seen } = jobs
  const error = jobs.error ?? live.error
  return (
    <>
      <Title text="Jobs" />
      <div class="stack">
        <div class="row" style={{ alignItems: 'flex-start' }}>
          <FilterBox
            label="Filter of jobs"
            value={text}
            problem={problem}
            known={useKnown()}
            onChange={(next) => replaceQuery({ filter: next })}
          />
          {text === '' ? null : (
            <button type="button" onClick={() => replaceQuery({ filter: null })}>
              Clear
            </button>
          )}
          {may('aicf.cancelJobs') ? (
            <Bulk action="cancel" filter={filter} isOff={problem !== null} />
          ) : null}
          {may('aicf.retryJobs') ? (
            <Bulk action="retry" filter={filter} isOff={problem !== null} />
          ) : null}
        </div>
        {error === null ? null : <Failure error={error} retry={live.refresh} />}
        <Panel
          title="Newest first"
          isFlush
          tools={
            <span class="muted">
              {plural(rows.length, 'job')} shown{hasMore ? ', more as you scroll' : ''}
            </span>
          }
        >
          {rows.length === 0 && live.data !== null ? (
            <NoJobs isFiltered={text !== ''} />
          ) : (
            <VirtualList
              label="Jobs"
              columns={COLUMNS}
              rows={rows}
              idOf={({ task_id }) => task_id}
              open={({ task_id }) => go(hrefOf('jobs', [task_id]))}
              onEnd={more}
              onSeen={seen}
            />
          )}
        </Panel>
      </div>
    </>
  )
}

function NoJobs({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  if (isFiltered) {
    return (
      <Empty>
        <p>No job fits this filter.</p>
        <button type="button" onClick={() => replaceQuery({ filter: null })}>
          Show all jobs
        </button>
      </Empty>
    )
  }
  return (
    <Empty>
      <p>There is no job yet. Enqueue one:</p>
      <code>{`fairlead enqueue task resize '{"width": 800}'`}</code>
    </Empty>
  )
}

/** What the server knows can be proposed: names of queues, ids of providers. */
function useKnown(): Readonly<Record<string, readonly string[]>> {
  const queues = useLive('queues.list', may('queues.list') ? {} : null, { everyMs: 0 })
  const providers = useLive(
    'aicf.listProviders',
    may('aicf.listProviders') ? { limit: 1_000 } : null,
    {
      everyMs: 0,
    },
  )
  return {
    name: (queues.data?.queues ?? []).flatMap(({ name }) => (name === null ? [] : [name])),
    provider: (providers.data?.providers ?? []).map(({ provider_id }) =>
      provider_id.replace(/^provider:/, ''),
    ),
  }
}
