import type { ProviderRecord, ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { useLive } from '../../data/live.ts'
import { useMarket } from '../../data/market.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge, Status } from '../../parts/badge.tsx'
import { ProviderLink } from '../../parts/id.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { usePages } from '../../parts/table/pager.tsx'
import { type Column, Table } from '../../parts/table/table.tsx'
import { Countdown } from '../../parts/time.tsx'
import { durationText } from '../../text/duration.ts'
import { countText, shareOf } from '../../text/numbers.ts'
import { Health } from '../overview/busiest.tsx'

type Outcomes = ResultOf<'stats.providers'>['providers'][number]

/** Who works: slots, health, and how its attempts end. */
export function ProvidersScreen(): JSX.Element {
  const { page, pager } = usePages()
  const isMarket = useMarket()
  const live = useLive('aicf.listProviders', page as never, {
    on: [
      'providerRegistered',
      'providerUpdated',
      'providerStatus',
      'workerConnected',
      'workerLeft',
    ],
  })
  const outcomes = useLive('stats.providers', may('stats.providers') ? {} : null, { everyMs: 900 })
  const byId = new Map(
    (outcomes.data?.providers ?? []).map((one) => [one.provider_id as string, one]),
  )
  const recent = outcomes.data === null ? '' : ` in ${durationText(outcomes.data.window_ms)}`
  return (
    <>
      <Title
        text="Providers"
        note={`Declines, failures and 429s are those${recent === '' ? ' of late' : recent}.`}
      />
      <Answer of={live}>
        {({ providers, cursor: next }) => (
          <Panel title="Providers and their workers" isFlush>
            {providers.length === 0 ? (
              <Empty>
                <p>No provider is registered. A worker registers its own when it starts:</p>
                <code>fairlead worker --provider provider:mine --task resize -- ./resize.sh</code>
              </Empty>
            ) : (
              <Table
                label="Providers"
                rows={providers}
                idOf={({ provider_id }) => provider_id}
                columns={columnsOf(byId, isMarket)}
              />
            )}
            {pager(next)}
          </Panel>
        )}
      </Answer>
    </>
  )
}

function columnsOf(
  byId: ReadonlyMap<string, Outcomes>,
  isMarket: boolean,
): readonly Column<ProviderRecord>[] {
  const recent = (pick: (outcomes: Outcomes['recent']) => number) => (row: ProviderRecord) => {
    const own = byId.get(row.provider_id)
    return own === undefined ? '–' : countText(pick(own.recent))
  }
  const market: readonly Column<ProviderRecord>[] = [
    { title: 'Stake', isNumber: true, cell: ({ stake_u64 }) => countText(stake_u64) },
    {
      title: 'Bands',
      cell: ({ service }) =>
        service.map(({ kind, band }) => `${kind} ${band.toLowerCase()}`).join(', '),
    },
    { title: 'Attested', cell: ({ attestation }) => attestation?.class ?? '–' },
  ]
  return [
    { title: 'Provider', cell: ({ provider_id }) => <ProviderLink id={provider_id} /> },
    { title: 'Status', cell: ({ status }) => <Status of={status} /> },
    {
      title: 'Workers',
      isNumber: true,
      cell: ({ workers }) => {
        const all = workers ?? []
        const gone = all.filter(({ gone_since }) => gone_since !== null).length
        return gone === 0 ? all.length : `${all.length - gone} (${gone} gone)`
      },
    },
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
    { title: 'Completed', isNumber: true, cell: recent(({ completed }) => completed) },
    { title: 'Failed', isNumber: true, cell: recent(({ failed }) => failed) },
    { title: 'Declined', isNumber: true, cell: recent(({ declined }) => declined) },
    { title: '429s', isNumber: true, cell: recent(({ rate_limited }) => rate_limited) },
    {
      title: 'Cooling down',
      cell: ({ cooldown_until }) =>
        cooldown_until === null ? (
          '–'
        ) : (
          <Badge tone="warn">
            <Countdown to={cooldown_until} />
          </Badge>
        ),
    },
    ...(isMarket ? market : []),
  ]
}
