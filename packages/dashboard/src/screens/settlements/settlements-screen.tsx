import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { useLive } from '../../data/live.ts'
import { may } from '../../data/rights.ts'
import { Answer } from '../../parts/answer.tsx'
import { Action } from '../../parts/dialog/action.tsx'
import { Copyable } from '../../parts/id.tsx'
import { Empty, Panel, Title } from '../../parts/panel.tsx'
import { usePages } from '../../parts/table/pager.tsx'
import { Table } from '../../parts/table/table.tsx'
import { countText } from '../../text/numbers.ts'
import { downloadSettlement } from './download.ts'

type Listed = ResultOf<'aicf.listSettlements'>['settlements'][number]

/** Closed epochs with their accounts, each as a file that can be verified offline. */
export function SettlementsScreen(): JSX.Element {
  const { page, pager } = usePages()
  const live = useLive('aicf.listSettlements', page, {
    on: ['epochSettled', 'payoutRecorded'],
    everyMs: 2_000,
  })
  return (
    <>
      <Title
        text="Settlements"
        note="A batch is verified without this server: fairlead settle verify <file>."
      />
      <Answer of={live}>
        {({ settlements, cursor: next }) => (
          <Panel title="Epochs, the newest first" isFlush>
            {settlements.length === 0 ? (
              <Empty>
                <p>
                  No epoch with work in it has been closed yet. The engine closes each by itself
                  when it ends.
                </p>
              </Empty>
            ) : (
              <Settlements of={settlements} />
            )}
            {pager(next)}
          </Panel>
        )}
      </Answer>
    </>
  )
}

function Settlements({ of }: { readonly of: readonly Listed[] }): JSX.Element {
  return (
    <Table
      label="Epochs"
      rows={of}
      idOf={({ batch_id }) => batch_id}
      columns={[
        { title: 'Epoch', isNumber: true, cell: ({ batch }) => countText(batch.epoch_id) },
        { title: 'Batch', cell: ({ batch_id }) => <Copyable text={batch_id} /> },
        { title: 'Claims', isNumber: true, cell: ({ batch }) => countText(batch.totals.claims) },
        { title: 'Payouts', isNumber: true, cell: ({ batch }) => countText(batch.totals.payouts) },
        { title: 'Gross', isNumber: true, cell: ({ batch }) => countText(batch.totals.gross) },
        { title: 'Paid', isNumber: true, cell: ({ batch }) => countText(batch.totals.paid) },
        {
          title: 'To providers',
          isNumber: true,
          cell: ({ batch }) => countText(batch.totals.provider),
        },
        { title: 'To miners', isNumber: true, cell: ({ batch }) => countText(batch.totals.miner) },
        { title: 'To the fund', isNumber: true, cell: ({ batch }) => countText(batch.totals.fund) },
        { title: 'Slashed', isNumber: true, cell: ({ batch }) => countText(batch.totals.slashed) },
        {
          title: 'Deferred',
          isNumber: true,
          cell: ({ batch }) => countText(batch.totals.deferred),
        },
        {
          title: 'Proof',
          cell: ({ batch }) =>
            may('aicf.getSettlement') ? (
              <Action
                label="Download"
                done={`The file of epoch ${batch.epoch_id} is there.`}
                run={() => downloadSettlement(batch.epoch_id)}
              />
            ) : null,
        },
      ]}
    />
  )
}
