import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { hrefOf } from '../../app/route.ts'
import type { ScreenProps } from '../../app/screens.ts'
import { line } from '../../data/line.ts'
import { useLive } from '../../data/live.ts'
import { newOperationId } from '../../data/operation-id.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge, Status } from '../../parts/badge.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { Copyable } from '../../parts/id.tsx'
import { Panel, Title } from '../../parts/panel.tsx'
import { Waterfall } from '../../parts/waterfall/waterfall.tsx'
import { words } from '../../text/ids.ts'
import { Attempts } from './attempts.tsx'
import { ExplainPanel } from './explain-panel.tsx'
import { hasEnded } from './has-ended.ts'
import { JobFacts } from './job-facts.tsx'
import { Log } from './log.tsx'
import { Outcome } from './outcome.tsx'
import { Payload } from './payload.tsx'
import { Rounds } from './rounds.tsx'

const OVER_MS = 5_000
const LIVE_MS = 600

type Answered = ResultOf<'aicf.getJob'>

/** A job, or why there is none to show. */
export function JobScreen({ rest }: ScreenProps): JSX.Element {
  const id = (rest[0] ?? '').toLowerCase()
  return ID.test(id) ? <KnownJob id={id} /> : <NoJob id={id} />
}

const ID = /^0x[0-9a-f]{64}$/

function NoJob({ id }: { readonly id: string }): JSX.Element {
  return (
    <>
      <Title text="Job" />
      <Panel title="There is no such job">
        <div class="stack tight">
          <p>
            No job has the id <code class="anywhere">{id}</code>.
          </p>
          <p>
            An id is 0x and 64 digits from 0 to 9 and a to f. The first 8 or more of them find a job
            in the <a href={hrefOf('jobs')}>list of jobs</a>.
          </p>
        </div>
      </Panel>
    </>
  )
}

/** One job from its acceptance to its payout. */
function KnownJob({ id }: { readonly id: string }): JSX.Element {
  const ask = { task_id: id }
  const whole = useLive('aicf.getJob', ask, { everyMs: 0 })
  const isOver = hasEnded(whole.data?.status ?? '')
  const everyMs = isOver ? OVER_MS : LIVE_MS
  const brief = useLive('aicf.getJob', { ...ask, payload: false }, { everyMs })
  const timeline = useLive('aicf.getTimeline', ask, { everyMs })
  const explained = useLive('aicf.explainJob', ask, { everyMs })
  const status = brief.data?.status
  // Payload and result are asked for when there may be another, and not at each look.
  useEffect(() => whole.refresh(), [status])
  if (brief.data === null && brief.error?.code === 'NotFound') return <NoJob id={id} />
  const newest = brief.data ?? whole.data
  return (
    <>
      <Title text={newest === null ? 'Job' : `${newest.job.kind} ${newest.job.name ?? ''}`}>
        {newest === null ? null : <Head of={newest} />}
      </Title>
      <Answer of={brief}>
        {(data) => (
          <div class="stack">
            <Panel title="Timeline" isFlush>
              <Answer of={timeline}>
                {({ spans, at }) => <Waterfall spans={spans} at={at} />}
              </Answer>
            </Panel>
            <div class="grid">
              <ExplainPanel live={explained} />
              <JobFacts job={data.job} />
            </div>
            <Attempts explained={explained} errors={data.job.errors} progress={data.job.progress} />
            <div class="grid">
              <Payload live={whole} />
              <Outcome live={whole} />
            </div>
            <Log id={id} everyMs={everyMs} />
            <Rounds explained={explained} />
          </div>
        )}
      </Answer>
    </>
  )
}

function Head({ of }: { readonly of: Answered }): JSX.Element {
  const { task_id, job, actions } = of
  return (
    <>
      <Status of={job.status} />
      {job.reason === null ? null : <Badge>{words(job.reason)}</Badge>}
      {job.wait_reason === null ? null : <Badge tone="warn">waits: {words(job.wait_reason)}</Badge>}
      <Copyable text={task_id} />
      <div class="row push">
        {actions.includes('retry') ? (
          <Action
            label="Retry"
            done="It is enqueued again, as a new job."
            question={
              <p>
                This enqueues a new job with the same payload and options. This one stays as it is.
              </p>
            }
            run={() =>
              line.call('aicf.retryJobs', {
                filter: { task_id_prefix: task_id },
                operation_id: newOperationId(),
              })
            }
          />
        ) : null}
        {actions.includes('cancel') ? (
          <Action
            label="Cancel"
            isDanger
            done="It is cancelled."
            question={
              <p>A worker that has it is told to stop. A result that comes later is ignored.</p>
            }
            run={() => line.call('aicf.cancelJob', { task_id })}
          />
        ) : null}
      </div>
    </>
  )
}
