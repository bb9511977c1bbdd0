import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { line } from '../../data/line.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { CallerLink, JobLink } from '../../parts/id.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { usePages } from '../../parts/table/pager.tsx'
import { Table } from '../../parts/table/table.tsx'
import { Ago, Countdown } from '../../parts/time.tsx'
import { durationText } from '../../text/duration.ts'
import { countText, plural, rateText, shareOf } from '../../text/numbers.ts'

type Budget = ResultOf<'stats.budgets'>['budgets'][number]

/** Every limit with what is used, reserved and free, as the counters that enforce it have it. */
export function BudgetsScreen(): JSX.Element {
  const { page, pager } = usePages()
  const live = useLive('stats.budgets', page, {
    on: ['limitDefined', 'limitReset', 'limitDeleted'],
  })
  return (
    <>
      <Title
        text="Budgets"
        note="Limits on what may be used of a provider, a key or a model. The figures are the counters that enforce them."
      >
        <div class="key push">
          <span>
            <i class="used" />
            used
          </span>
          <span>
            <i class="held" />
            reserved
          </span>
          <span>
            <i />
            free
          </span>
          <span>
            <i class="over" />
            over
          </span>
        </div>
      </Title>
      <Answer of={live}>
        {({ budgets, cursor: next }) => (
          <div class="stack">
            {budgets.length === 0 ? (
              <Empty>
                <p>There is no limit yet.</p>
                <p>
                  <code>
                    fairlead limits set openai:tokens --kind rolling --capacity 200000 --window 60s
                  </code>
                </p>
              </Empty>
            ) : (
              <div class="grid">
                {budgets.map((one) => (
                  <BudgetView key={one.key} of={one} />
                ))}
              </div>
            )}
            {pager(next)}
          </div>
        )}
      </Answer>
    </>
  )
}

function BudgetView({ of }: { readonly of: Budget }): JSX.Element {
  const { key, unit, description, capacity, used, reserved, free, debt, waiting, reported } = of
  const amount = (n: number | string): string =>
    unit === null ? countText(n) : `${countText(n)} ${unit}`
  const parts = [
    { kind: 'used' as const, share: shareOf(used, capacity) },
    { kind: 'held' as const, share: shareOf(reserved ?? 0, capacity) },
  ]
  const isOver = String(debt) !== '0'
  return (
    <Panel title={key} isFlush tools={may('limits.reset') ? <Reset id={key} /> : null}>
      <div class="budget">
        <div class="row">
          <span class="muted">{windowText(of)}</span>
          {description === null ? null : <span class="muted">{description}</span>}
          {waiting === 0 ? null : <Badge tone="warn">{plural(waiting, 'job')} held up</Badge>}
          {isOver ? <Badge tone="bad">{amount(debt)} over</Badge> : null}
          {of.pending_decrease_to === null ? null : (
            <Badge tone="busy">goes down to {amount(of.pending_decrease_to)}</Badge>
          )}
        </div>
        <Meter
          label={`${amount(used)} used, ${reserved === null ? 'reserved not known' : `${amount(reserved)} reserved`}, ${amount(free)} free of ${amount(capacity)}`}
          parts={isOver ? [{ kind: 'over', share: 1 }] : parts}
        />
        <div class="row nowrap">
          <span>{countText(used)} used</span>
          <span>
            {reserved === null ? 'reserved: not known' : `${countText(reserved)} reserved`}
          </span>
          <strong>{countText(free)} free</strong>
          <span class="muted">of {amount(capacity)}</span>
        </div>
        <p class="muted row">
          <span>
            {of.resets_at === null ? (
              'nothing comes back by itself'
            ) : (
              <>
                some comes back in <Countdown to={of.resets_at} />
              </>
            )}
          </span>
          {of.whole_at === null ? null : (
            <span>
              all of it in <Countdown to={of.whole_at} />
            </span>
          )}
        </p>
        <p class="muted">
          {reported === null ? (
            'The provider has reported nothing.'
          ) : (
            <>
              The provider said <Ago at={reported.at} />:{' '}
              {reported.remaining === null ? '?' : countText(reported.remaining)} left of{' '}
              {reported.limit === null ? '?' : countText(reported.limit)}
              {reported.resets_at === null ? (
                ''
              ) : (
                <>
                  , reset in <Countdown to={reported.resets_at} />
                </>
              )}
              .
            </>
          )}
        </p>
      </div>
      {of.holders.length === 0 ? null : (
        <Table
          label={`Who holds ${key}`}
          rows={of.holders}
          idOf={({ lease_id }) => lease_id}
          columns={[
            {
              title: 'Held by',
              cell: ({ task_id, lease_id }) =>
                task_id === null ? lease_id.slice(0, 24) : <JobLink id={task_id} />,
            },
            {
              title: 'For',
              cell: ({ caller, name }) =>
                caller === null ? (name ?? '') : <CallerLink id={caller} name={name} />,
            },
            { title: 'Amount', isNumber: true, cell: ({ amount: own }) => countText(own) },
            { title: 'Since', isNumber: true, cell: ({ reserved_at }) => <Ago at={reserved_at} /> },
          ]}
        />
      )}
      {(of.holders_total ?? 0) > of.holders.length ? (
        <p class="empty">
          {plural((of.holders_total ?? 0) - of.holders.length, 'more lease')} hold some of it.
        </p>
      ) : null}
    </Panel>
  )
}

function windowText({ kind, window_ms, rate_per_second }: Budget): string {
  if (kind === 'bucket') return `bucket, ${rateText(rate_per_second ?? 0)} a second`
  if (kind === 'concurrency') return 'at the same time'
  return `${kind} window of ${durationText(window_ms ?? 0)}`
}

function Reset({ id }: { readonly id: string }): JSX.Element {
  return (
    <Action
      label="Reset"
      isDanger
      done={`${id} is reset.`}
      question={
        <p>
          All that is held of <code>{id}</code> becomes free at once, debts too. Do this only if it
          was filled by mistake: the provider does not know of it.
        </p>
      }
      run={() => line.call('limits.reset', { key: id })}
    />
  )
}
