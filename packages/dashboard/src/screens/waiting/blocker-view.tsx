import type { MethodName, ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import { line } from '../../data/line.ts'
import { may } from '../../data/rights.ts'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { termText } from '../../parts/filter/filter.ts'
import { JobLink } from '../../parts/id.tsx'
import { Countdown } from '../../parts/time.tsx'
import { durationText } from '../../text/duration.ts'
import { refusalWords, words } from '../../text/ids.ts'
import { countText, plural } from '../../text/numbers.ts'

export type Blocker = ResultOf<'stats.waiting'>['blockers'][number]
type Change = NonNullable<Blocker['change']>

/** Jobs that one thing holds up: how many, for how long, until when, and what would help. */
export function BlockerView({ of }: { readonly of: Blocker }): JSX.Element {
  const {
    kind,
    reason,
    check,
    slots,
    limit,
    jobs,
    callers,
    names,
    oldest_wait_ms,
    earliest_at,
    example,
  } = of
  const filter = `${termText('kind', kind)} ${termText('status', 'QUEUED')} ${termText('wait', reason)}`
  return (
    <article class="blocker">
      <div class="top">
        <span class="big">{countText(jobs)}</span>
        <Badge tone={reason === 'no_provider' || reason === 'budget' ? 'warn' : 'plain'}>
          {check === null ? words(reason) : refusalWords(check, slots)}
        </Badge>
        <span class="muted">
          {kind}
          {limit === null ? null : (
            <>
              {' · limit '}
              <a href={hrefOf('budgets')}>{limit}</a>
            </>
          )}
        </span>
      </div>
      <p>{of.text}</p>
      <p class="muted row facts-line">
        {callers === null ? null : <span>{plural(callers, 'caller')}</span>}
        {oldest_wait_ms === null ? null : <span>longest wait {durationText(oldest_wait_ms)}</span>}
        <span>
          {earliest_at === null ? (
            'earliest start: not known'
          ) : (
            <>
              earliest start in <Countdown to={earliest_at} />
            </>
          )}
        </span>
        {names.slice(0, 3).map(({ name, jobs: own }) => (
          <span key={name ?? ''}>
            {name ?? 'unnamed'}: {countText(own)}
          </span>
        ))}
      </p>
      <p class="row">
        {may('aicf.listJobs') ? <a href={hrefOf('jobs', [], { filter })}>These jobs</a> : null}
        {example === null ? null : (
          <span>
            for example <JobLink id={example} />
          </span>
        )}
      </p>
      {of.change === null ? null : <ChangeView of={of.change} />}
    </article>
  )
}

/** What would let jobs go; a button where one call does it and one may make that call. */
export function ChangeView({ of }: { readonly of: Change }): JSX.Element {
  const { text, jobs, method, params } = of
  const mayAct = method !== null && params !== null && may(method as MethodName)
  return (
    <div class="notice good">
      <span>
        {text} <span class="muted">Frees {plural(jobs, 'job')}.</span>
      </span>
      {mayAct ? (
        <Action
          label="Do it"
          done="Done."
          run={() => line.call(method as MethodName, params as never)}
          question={
            <>
              <p>{text}</p>
              <p class="muted">
                This calls <code>{method}</code> with <code>{JSON.stringify(params)}</code>.
              </p>
            </>
          }
        />
      ) : null}
    </div>
  )
}
