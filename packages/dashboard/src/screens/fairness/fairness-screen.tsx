import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { useLive } from '../../data/live.ts'
import { Answer } from '../../parts/answer.tsx'
import { Status } from '../../parts/badge.tsx'
import { CallerLink } from '../../parts/id.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { Table } from '../../parts/table/table.tsx'
import { durationText } from '../../text/duration.ts'
import { words } from '../../text/ids.ts'
import { countText, plural, ppmText } from '../../text/numbers.ts'

type Kind = ResultOf<'stats.fairness'>['kinds'][number]
type Tenant = Kind['tenants'][number]

/** What each tenant was given against what its weight entitles it to. */
export function FairnessScreen(): JSX.Element {
  const live = useLive('stats.fairness', {}, { everyMs: 1_000 })
  return (
    <>
      <Title
        text="Fairness"
        note="Shares are counted in units, the cost of the work. Owed: it has jobs that a provider would take. Limited: its own jobs are held up. No demand: it asks for nothing."
      />
      <Answer of={live}>
        {({ kinds, window_ms }) =>
          kinds.length === 0 ? (
            <Empty>
              <p>Nobody has asked for work yet, so there is nothing to share.</p>
            </Empty>
          ) : (
            <div class="stack">
              {kinds.map((one) => (
                <KindView key={one.kind} of={one} windowMs={window_ms} />
              ))}
            </div>
          )
        }
      </Answer>
    </>
  )
}

function KindView({ of, windowMs }: { readonly of: Kind; readonly windowMs: number }): JSX.Element {
  const { kind, mode, index, units, tenants, rest, owed, limited, no_demand } = of
  const index3 = index === null ? 'not known yet' : index.toFixed(3)
  return (
    <Panel
      title={kind}
      isFlush
      tools={
        <span class="muted">
          {plural(owed, 'tenant')} owed, {limited} limited, {no_demand} without demand · Jain index{' '}
          {index3} · {countText(units)} units in {durationText(windowMs)}
        </span>
      }
    >
      {mode === 'score' ? (
        <p class="empty">
          Order is by score here: shares are compared, not kept. Set match.fairness to tenant to
          keep them.
        </p>
      ) : null}
      <Table
        label={`Tenants of kind ${kind}`}
        rows={tenants}
        idOf={({ caller }) => caller}
        columns={[
          { title: 'Tenant', cell: ({ caller, name }) => <CallerLink id={caller} name={name} /> },
          { title: 'State', cell: (row) => <State of={row} /> },
          { title: 'Weight', isNumber: true, cell: ({ weight }) => countText(weight) },
          { title: 'Ready', isNumber: true, cell: ({ ready }) => countText(ready) },
          { title: 'Units', isNumber: true, cell: ({ units: own }) => countText(own) },
          { title: 'Share', isNumber: true, cell: ({ share_ppm }) => ppmText(share_ppm) },
          { title: 'Entitled', isNumber: true, cell: ({ entitled_ppm }) => ppmText(entitled_ppm) },
          { title: 'Share of entitlement', cell: (row) => <ShareMeter of={row} /> },
          {
            title: 'Lag',
            isNumber: true,
            cell: ({ lag_units }) => (lag_units === null ? '–' : countText(lag_units)),
          },
          {
            title: 'Bound',
            isNumber: true,
            cell: (row) => <Bound of={row} />,
          },
        ]}
      />
      {rest === null ? null : (
        <p class="empty">
          {plural(rest.tenants, 'more tenant')}: {rest.owed} owed, {rest.limited} limited,{' '}
          {rest.no_demand} without demand; {countText(rest.ready)} jobs ready, share{' '}
          {ppmText(rest.share_ppm)} of entitled {ppmText(rest.entitled_ppm)}.
        </p>
      )}
    </Panel>
  )
}

function State({ of }: { readonly of: Tenant }): JSX.Element {
  const { state, held_by } = of
  const by = held_by === null ? '' : ` ${words(held_by.limit ?? held_by.check ?? held_by.reason)}`
  return (
    <>
      <Status of={state} />
      <span class="muted">{by}</span>
    </>
  )
}

function ShareMeter({ of }: { readonly of: Tenant }): JSX.Element {
  const { share_ppm, entitled_ppm } = of
  const share = entitled_ppm === 0 ? 0 : share_ppm / entitled_ppm
  return (
    <Meter
      label={`${ppmText(share_ppm)} of entitled ${ppmText(entitled_ppm)}`}
      parts={[{ kind: 'mine', share: Math.min(1, share) }]}
    />
  )
}

/** A lag above the bound is what must never be. */
function Bound({ of }: { readonly of: Tenant }): JSX.Element {
  const { lag_units, bound_units } = of
  if (bound_units === null) return <>–</>
  const isOver = lag_units !== null && lag_units > bound_units
  return <span class={isOver ? 'bad' : ''}>{countText(bound_units)}</span>
}
