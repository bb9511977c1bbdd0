import type { ExplanationRecord, JobRecord } from '@fairlead/client'
import type { JSX } from 'preact'
import type { Live } from '../../data/live.ts'
import { Badge, Status } from '../../parts/badge.tsx'
import { ProviderLink } from '../../parts/id.tsx'
import { JsonView } from '../../parts/json/json-view.tsx'
import { Empty, Panel } from '../../parts/panel.tsx'
import { Time } from '../../parts/time.tsx'
import { attemptEnd } from '../../text/attempt-end.ts'
import { plural } from '../../text/numbers.ts'

type Attempt = ExplanationRecord['attempts'][number]

/** Every attempt, the newest first, with how it went. */
export function Attempts(props: {
  readonly explained: Live<ExplanationRecord>
  readonly errors: JobRecord['errors']
  readonly progress: JobRecord['progress']
}): JSX.Element {
  const { explained, errors, progress } = props
  const attempts = explained.data?.attempts ?? []
  const before = explained.data?.attempts_before ?? 0
  return (
    <Panel title="Attempts" isFlush>
      {attempts.length === 0 ? (
        <Empty>
          <p>No attempt yet.</p>
        </Empty>
      ) : (
        attempts
          .toReversed()
          .map((one) => (
            <AttemptView
              key={one.lease.lease_id}
              of={one}
              error={errors.find(({ attempt }) => attempt === one.lease.attempt)}
              progress={progress?.attempt === one.lease.attempt ? progress : null}
            />
          ))
      )}
      {before === 0 ? null : (
        <p class="empty">{plural(before, 'older attempt')} came before these.</p>
      )}
    </Panel>
  )
}

function AttemptView(props: {
  readonly of: Attempt
  readonly error: JobRecord['errors'][number] | undefined
  readonly progress: JobRecord['progress']
}): JSX.Element {
  const { of, error, progress } = props
  const { lease, ended } = of
  const reason = ended?.reason ?? null
  const code = error?.code ?? ended?.code ?? null
  const message = error?.message ?? ended?.message ?? null
  const details = error?.details ?? ended?.details ?? null
  return (
    <article class="blocker">
      <div class="top">
        <strong>Attempt {lease.attempt}</strong>
        <Course status={lease.status} reason={reason} />
        <ProviderLink id={lease.provider_id} />
        <span class="muted">
          {lease.worker_id === null ? null : `worker ${lease.worker_id} · `}
          <Time at={lease.t_start} />
          {lease.renewals === 0 ? null : ` · renewed ${plural(lease.renewals, 'time')}`}
          {lease.is_acked ? null : ' · not acked'}
        </span>
      </div>
      {progress === null || progress.percent === null ? null : (
        <div class="row">
          <progress
            value={progress.percent}
            max={100}
            aria-label="Progress"
            style={{ maxWidth: '320px' }}
          />
          <span>
            {progress.percent} % {progress.message ?? ''}
          </span>
        </div>
      )}
      {code === null ? null : (
        <p>
          <strong class="bad">{code}</strong>
        </p>
      )}
      {message === null ? null : <pre class="mono">{message}</pre>}
      {details === null ? null : <Details of={details} />}
    </article>
  )
}

/** The status of a lease; of one that ended early, how it ended. */
function Course(props: { readonly status: string; readonly reason: string | null }): JSX.Element {
  const { status, reason } = props
  if (status === 'CANCELLED') {
    const tone = reason === 'provider_fail' ? 'bad' : 'plain'
    return <Badge tone={tone}>{attemptEnd(reason ?? 'cancelled')}</Badge>
  }
  return (
    <>
      <Status of={status} />
      {reason === null ? null : <Badge>{attemptEnd(reason)}</Badge>}
    </>
  )
}

/** A stack as it was written, the rest as JSON. */
function Details({ of }: { readonly of: unknown }): JSX.Element {
  const { stack, ...others } = (typeof of === 'object' && of !== null ? of : { value: of }) as {
    readonly stack?: unknown
  }
  return (
    <details>
      <summary>Details</summary>
      {typeof stack === 'string' ? <pre class="mono">{stack}</pre> : null}
      {Object.keys(others).length === 0 ? null : <JsonView value={others} />}
    </details>
  )
}
