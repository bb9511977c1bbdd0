import { type Column, table } from '../../terminal/table.ts'
import type { Lines } from '../../terminal/terminal.ts'
import { spaced } from '../rules-report.ts'
import type { FundFigures } from './fund-figures.ts'

/** The figures of a fund for people. */
export function fundReport(figures: FundFigures, title: (text: string) => string): string[] {
  const { settlements, slashes, payout_proof: proof, books, wrong } = figures
  const parts: Lines[] = [
    title('Settled epochs'),
    settlementsTable(figures),
    title('Providers'),
    providersTable(figures),
    title('Slashes'),
    slashes.length === 0 ? 'None.' : slashesTable(figures),
    title('Books'),
    table(
      [{ title: 'account' }, right('balance')],
      Object.entries(books).map(([account, balance]) => [account, String(balance)]),
    ),
    title('Verified offline'),
    ...(wrong.length > 0
      ? [['WRONG:', ...wrong]]
      : [
          [
            `${settlements.length} batches: every id, root, line and total, each close computed again, and the audit log behind them.`,
            ...(proof === null
              ? []
              : [
                  `The payouts of ${proof.provider_id} in epoch ${proof.epoch_id}: ${proof.payouts} lines, its share ${proof.share}; each leads to the root.`,
                ]),
            'All balances add up to 0.',
          ],
        ]),
  ]
  return spaced(parts)
}

function right(title: string): Column {
  return { title, align: 'right' }
}

function settlementsTable({ settlements }: FundFigures): string[] {
  const names = [
    'claims',
    'gross',
    'paid',
    'provider',
    'miner',
    'fund',
    'slashed',
    'unstaked',
  ] as const
  return table(
    [right('epoch'), { title: 'batch' }, ...names.map(right)],
    settlements.map((one) => [
      String(one.epoch_id),
      `${one.batch_id.slice(0, 18)}…`,
      ...names.map((name) => String(one[name])),
    ]),
  )
}

function providersTable({ providers }: FundFigures): string[] {
  const names = ['completed', 'not_proved', 'slashed', 'stake', 'available'] as const
  return table(
    [
      ...['provider', 'manner', 'status', 'band'].map((title) => ({ title })),
      ...names.map((name) => right(name.replace('_', ' '))),
    ],
    providers.map((one) => [
      one.provider_id.replace('provider:', ''),
      one.manner,
      one.status,
      one.band,
      ...names.map((name) => String(one[name])),
    ]),
  )
}

function slashesTable({ slashes }: FundFigures): string[] {
  return table(
    [{ title: 'provider' }, right('epoch'), { title: 'reason' }, right('amount')],
    slashes.map((one) => [
      one.provider_id.replace('provider:', ''),
      String(one.epoch_id),
      one.reason,
      String(one.amount),
    ]),
  )
}
