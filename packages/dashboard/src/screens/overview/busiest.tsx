import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { ProviderLink } from '../../parts/id.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Empty, Panel } from '../../parts/panel.tsx'
import { Table } from '../../parts/table/table.tsx'
import { shareOf } from '../../text/numbers.ts'

const SHOWN = 12

/** The providers with the most work in hand. */
export function Busiest(): JSX.Element {
  const stats = useLive('stats.get', {}, { everyMs: 900 })
  const all = may('aicf.listProviders') ? <a href={hrefOf('providers')}>All providers</a> : null
  return (
    <Panel title="Busiest providers" isFlush tools={all}>
      <Answer of={stats}>
        {({ busiest }) =>
          busiest.length === 0 ? (
            <Empty>
              <p>No provider is registered, so nothing can be done.</p>
              <p>
                Start a worker:{' '}
                <code>fairlead worker --provider provider:mine --task resize -- ./resize.sh</code>
              </p>
            </Empty>
          ) : (
            <Table
              label="Busiest providers"
              rows={busiest.slice(0, SHOWN)}
              idOf={({ provider_id }) => provider_id}
              columns={[
                { title: 'Provider', cell: ({ provider_id }) => <ProviderLink id={provider_id} /> },
                {
                  title: 'Slots',
                  isNumber: true,
                  cell: ({ leases, lease_cap }) => `${leases} of ${lease_cap}`,
                },
                {
                  title: 'Load',
                  cell: ({ leases, lease_cap }) => (
                    <Meter
                      label={`${leases} of ${lease_cap} slots`}
                      parts={[{ kind: 'used', share: shareOf(leases, lease_cap) }]}
                    />
                  ),
                },
                { title: 'Health', isNumber: true, cell: ({ health }) => <Health of={health} /> },
              ]}
            />
          )
        }
      </Answer>
    </Panel>
  )
}

const UNWELL = 600

export function Health({ of }: { readonly of: number }): JSX.Element {
  return <span class={of < UNWELL ? 'bad' : ''}>{(of / 10).toFixed(0)} %</span>
}
