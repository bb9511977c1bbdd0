import type { ProviderRecord, ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { hrefOf } from '../../app/route.ts'
import type { ScreenProps } from '../../app/screens.ts'
import { line } from '../../data/line.ts'
import { useLive } from '../../data/live.ts'
import { useMarket } from '../../data/market.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Badge, Status } from '../../parts/badge.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { Copyable } from '../../parts/id.tsx'
import { Empty, Facts, Panel, Title } from '../../parts/panel.tsx'
import { Table } from '../../parts/table/table.tsx'
import { Ago, Countdown, Time } from '../../parts/time.tsx'
import { countText, plural } from '../../text/numbers.ts'
import { Health } from '../overview/busiest.tsx'

/** One provider: its offer, its workers, how its attempts end. */
export function ProviderScreen({ rest }: ScreenProps): JSX.Element {
  const id = (rest[0] ?? '') as ProviderRecord['provider_id']
  const isMarket = useMarket()
  const live = useLive('aicf.getProvider', { provider_id: id })
  return (
    <>
      <Title text={id.replace(/^provider:/, '')}>
        {live.data === null ? null : <Head of={live.data.provider} />}
      </Title>
      <Answer of={live}>
        {({ provider }) => (
          <div class="stack">
            <div class="grid">
              <Now of={provider} />
              <Offer of={provider} />
              {isMarket ? <Market of={provider} /> : null}
              <Outcomes id={id} />
            </div>
            <Workers of={provider} />
            {may('aicf.listJobs') ? (
              <p>
                <a
                  href={hrefOf('jobs', [], { filter: `provider:${id.replace(/^provider:/, '')}` })}
                >
                  Jobs that it had
                </a>
              </p>
            ) : null}
          </div>
        )}
      </Answer>
    </>
  )
}

function Head({ of }: { readonly of: ProviderRecord }): JSX.Element {
  const { provider_id, status } = of
  const set = (to: 'ACTIVE' | 'PAUSED' | 'SUSPENDED') => () =>
    line.call('aicf.setProviderStatus', { provider_id, status: to })
  return (
    <>
      <Status of={status} />
      {may('aicf.setProviderStatus') ? (
        <div class="row push">
          {status === 'ACTIVE' ? (
            <Action
              label="Pause"
              done={`${provider_id} is paused.`}
              question={
                <p>
                  It gets no more work until it is activated again, and loses what it has in hand.
                </p>
              }
              run={set('PAUSED')}
            />
          ) : null}
          {status === 'PAUSED' ||
          status === 'SUSPENDED' ||
          status === 'JAILED' ||
          status === 'REGISTERED' ? (
            <Action label="Activate" done={`${provider_id} is active.`} run={set('ACTIVE')} />
          ) : null}
          {status === 'ACTIVE' || status === 'PAUSED' ? (
            <Action
              label="Suspend"
              isDanger
              done={`${provider_id} is suspended.`}
              question={
                <p>It gets no more work and cannot end that itself. It loses its leases.</p>
              }
              run={set('SUSPENDED')}
            />
          ) : null}
        </div>
      ) : null}
    </>
  )
}

function Now({ of }: { readonly of: ProviderRecord }): JSX.Element {
  return (
    <Panel title="Now">
      <Facts
        of={[
          ['Slots', `${of.leases} of ${of.lease_cap} in use`],
          ['Health', <Health key="h" of={of.health} />],
          ['Failures in a row', of.failures],
          [
            'Cooling down',
            of.cooldown_until === null ? 'no' : <Countdown to={of.cooldown_until} />,
          ],
          ['Last heartbeat', <Ago key="a" at={of.last_heartbeat} />],
          ['Jailed', of.jailed_until === null ? null : <Time at={of.jailed_until} />],
        ]}
      />
    </Panel>
  )
}

function Offer({ of }: { readonly of: ProviderRecord }): JSX.Element {
  const list = (values: readonly string[] | null): string => values?.join(', ') ?? 'any'
  const shown = of as ProviderRecord & Readonly<Record<string, readonly string[] | null>>
  return (
    <Panel title="Offer">
      <Facts
        of={Object.entries(shown)
          .filter(([name]) =>
            [
              'kinds',
              'models',
              'tasks',
              'platforms',
              'gates',
              'precision',
              'allow',
              'deny',
            ].includes(name),
          )
          .filter(([name, value]) => name !== 'deny' || (value as readonly string[]).length > 0)
          .map(([name, value]) => [name, list(value as readonly string[] | null)] as const)}
      />
    </Panel>
  )
}

function Market({ of }: { readonly of: ProviderRecord }): JSX.Element {
  return (
    <Panel title="Stake and service">
      <Facts
        of={[
          ['Stake', countText(of.stake_u64)],
          [
            'On its way out',
            of.unstaking.map(({ amount_u64, matures_at }) => (
              <span key={matures_at}>
                {countText(amount_u64)} <Ago at={matures_at} />{' '}
              </span>
            )),
          ],
          ['Attested as', of.attestation?.class],
          [
            'Attested until',
            of.attestation === null ? null : <Time at={of.attestation.not_after} />,
          ],
          ['Key', of.public_key === null ? 'none' : <Copyable text={of.public_key} />],
          ['Slashed in epochs', of.offence_epochs.join(', ')],
        ]}
      />
      {of.service.length === 0 ? null : (
        <Table
          label="Service"
          rows={of.service}
          idOf={({ kind }) => kind}
          columns={[
            { title: 'Kind', cell: ({ kind }) => kind },
            { title: 'Band', cell: ({ band }) => <Badge>{band}</Badge> },
            { title: 'Samples', isNumber: true, cell: ({ samples }) => countText(samples) },
            {
              title: 'p95 ms a unit',
              isNumber: true,
              cell: ({ p95_ms }) => (p95_ms === null ? '–' : countText(p95_ms)),
            },
            {
              title: 'Failed',
              isNumber: true,
              cell: ({ fail_ppm }) => `${(fail_ppm / 10_000).toFixed(1)} %`,
            },
            {
              title: 'Available',
              isNumber: true,
              cell: ({ availability_ppm }) => `${(availability_ppm / 10_000).toFixed(1)} %`,
            },
          ]}
        />
      )}
    </Panel>
  )
}

type OutcomeRow = readonly [string, ResultOf<'stats.providers'>['providers'][number]['recent']]

function Outcomes({ id }: { readonly id: string }): JSX.Element | null {
  const live = useLive('stats.providers', may('stats.providers') ? {} : null, { everyMs: 900 })
  const own = live.data?.providers.find(({ provider_id }) => provider_id === id)
  if (own === undefined) return null
  const rows: readonly OutcomeRow[] = [
    ['of late', own.recent],
    ['since the start', own.total],
  ]
  return (
    <Panel title="Attempts" isFlush>
      <Table
        label="Attempts by how they ended"
        rows={rows}
        idOf={([name]) => name}
        columns={[
          { title: 'When', cell: ([name]) => name },
          { title: 'Assigned', isNumber: true, cell: ([, { assigned }]) => countText(assigned) },
          { title: 'Completed', isNumber: true, cell: ([, { completed }]) => countText(completed) },
          { title: 'Failed', isNumber: true, cell: ([, { failed }]) => countText(failed) },
          { title: 'Declined', isNumber: true, cell: ([, { declined }]) => countText(declined) },
          {
            title: '429s',
            isNumber: true,
            cell: ([, { rate_limited }]) => countText(rate_limited),
          },
        ]}
      />
    </Panel>
  )
}

function Workers({ of }: { readonly of: ProviderRecord }): JSX.Element {
  const workers = of.workers ?? []
  return (
    <Panel title={plural(workers.length, 'worker')} isFlush>
      {workers.length === 0 ? (
        <Empty>
          <p>No worker is connected, so this provider takes no work. Start one:</p>
          <code>fairlead worker --provider {of.provider_id} --task resize -- ./resize.sh</code>
        </Empty>
      ) : (
        <Table
          label="Workers"
          rows={workers}
          idOf={({ worker_id }) => worker_id}
          columns={[
            { title: 'Worker', cell: ({ worker_id }) => worker_id },
            { title: 'Slots', isNumber: true, cell: ({ slots }) => slots },
            { title: 'In use', isNumber: true, cell: ({ leases }) => leases },
            {
              title: 'State',
              cell: ({ gone_since }) =>
                gone_since === null ? (
                  <Badge tone="good">connected</Badge>
                ) : (
                  <Badge tone="bad">
                    gone <Ago at={gone_since} />
                  </Badge>
                ),
            },
          ]}
        />
      )}
    </Panel>
  )
}
