import type { BatchFile } from '@fairlead/protocol'
import { factLines } from '../terminal/fact-lines.ts'
import { table } from '../terminal/table.ts'
import type { Listed } from './fetch-settlements.ts'

const SUMS = [
  'claims',
  'gross',
  'paid',
  'provider',
  'miner',
  'fund',
  'slashed',
  'deferred',
] as const

/** Batches as a table, a line each. */
export function settlementsTable(settlements: readonly Listed[]): string[] {
  const rows = settlements.map(({ batch_id, batch }) => [
    String(batch.epoch_id),
    `${batch_id.slice(0, 18)}…`,
    ...SUMS.map((name) => String(batch.totals[name])),
  ])
  return table(
    [
      { title: 'epoch', align: 'right' },
      { title: 'batch' },
      ...SUMS.map((title) => ({ title, align: 'right' as const })),
    ],
    rows,
  )
}

/** A batch: where it stands, its totals, and what each provider has of it. */
export function batchText({ batch_id, batch, claims, payouts }: BatchFile): string[] {
  const { totals } = batch
  const facts: [string, string][] = [
    ['batch', batch_id],
    ['before it', batch.prev_batch_id],
    ['audit log', `entry ${batch.audit_seq}, ${batch.audit_head}`],
    ['budget', totals.budget === null ? 'none' : String(totals.budget)],
    ...SUMS.map((name): [string, string] => [name, String(totals[name])]),
    ['carry', String(totals.carry)],
  ]
  return [
    `Epoch ${batch.epoch_id}`,
    ...factLines(facts),
    '',
    ...providersTable({ batch, claims, payouts }),
  ]
}

/** The sums of each provider over the lines, with what was taken from its stake and paid back of it. */
function providersTable({
  batch,
  claims,
  payouts,
}: Pick<BatchFile, 'batch' | 'claims' | 'payouts'>): string[] {
  const { debits, unstaked } = batch.totals
  const lines = [...claims, ...payouts].map(({ provider_id }) => provider_id)
  const ids = [...new Set([...lines, ...Object.keys(debits), ...Object.keys(unstaked)])].sort()
  if (ids.length === 0) return ['No provider has anything in it.']
  const rows = ids.map((id) => {
    const own = payouts.filter(({ provider_id }) => provider_id === id)
    const sum = (of: 'amount' | 'provider' | 'slashed') =>
      String(own.reduce((all, line) => all + BigInt(line[of]), 0n))
    const claimed = claims.filter(({ provider_id }) => provider_id === id)
    return [
      id,
      String(claimed.length),
      String(claimed.reduce((all, { gross }) => all + BigInt(gross), 0n)),
      sum('amount'),
      sum('provider'),
      sum('slashed'),
      String(debits[id] ?? 0),
      String(unstaked[id] ?? 0),
    ]
  })
  const titles = ['claims', 'gross', 'paid', 'its share', 'slashed', 'from stake', 'stake back']
  return table(
    [{ title: 'provider' }, ...titles.map((title) => ({ title, align: 'right' as const }))],
    rows,
  )
}
