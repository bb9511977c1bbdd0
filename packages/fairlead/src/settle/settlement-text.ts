import type {
  FileReport,
  ProviderReport,
  Recomputed,
  SettlementReport,
} from './verify-settlements.ts'

/** A verification in lines: everything that was checked, and then the first thing that is wrong. */
export function settlementLines({ files, audit, problem }: SettlementReport): string[] {
  const lines = files.flatMap(fileLines)
  const batches = new Set(files.map(({ batch_id }) => batch_id)).size
  if (batches > 1) lines.push(`${batches} batches, each linked to the one before.`)
  if (problem !== null) {
    const { file, field, expected, found } = problem
    lines.push(`Wrong: ${file}: ${field}: expected ${expected}, found ${found}.`)
  } else if (audit !== null) {
    const { checked, head } = audit
    lines.push(
      `Audit log: ${checked} entries, every link holds. It bears out each batch. Head: ${head.seq} ${head.hash}`,
    )
  }
  return lines
}

function fileLines({
  file,
  epoch_id,
  batch_id,
  totals,
  recomputed,
  provider,
}: FileReport): string[] {
  const lines = [`${file}: epoch ${epoch_id}, batch ${batch_id}`]
  if (recomputed !== null) lines.push(...batchLines(totals as Totals, recomputed))
  if (provider !== null) lines.push(...providerLines(provider))
  if (recomputed === null) {
    lines.push('  The batch id holds. The file does not show that these are all of its payouts.')
  }
  return lines
}

/** The totals as the file has them. */
type Totals = Readonly<Record<string, number | string | null>>

const AGAIN: Readonly<Record<Recomputed, string>> = {
  yes: 'The close, computed again, gives the same batch.',
  no_policy: 'The close was not computed again: the file has no policy.',
  earlier_batches_missing:
    'The close was not computed again: lines were due before it. Give the batches before it too.',
}

function batchLines(totals: Totals, recomputed: Recomputed): string[] {
  const { claims, payouts, gross, paid, provider, miner, fund, slashed, deferred } = totals
  const rest = deferred === 0 ? '' : `, ${deferred} stays due`
  return [
    `  claims ${claims} worth ${gross}, payouts ${payouts} of ${paid}: providers ${provider}, miners ${miner}, fund ${fund}, slashed ${slashed}${rest}`,
    `  The batch id, both roots, every line and all totals hold. ${AGAIN[recomputed]}`,
  ]
}

function providerLines(report: ProviderReport): string[] {
  const { provider_id: id, payouts, amount, share, slashed, debit, unstaked } = report
  const first =
    payouts === 0
      ? `  ${id}: no payouts in this batch`
      : `  ${id}: payouts ${payouts} of ${amount}, its share ${share}, slashed ${slashed}`
  const stake = [
    ...(debit === 0 ? [] : [`${debit} taken from its stake`]),
    ...(unstaked === 0 ? [] : [`${unstaked} of its stake paid back`]),
  ]
  const lines = [[first, ...stake].join(', ')]
  if (payouts > 0) lines.push('  Each of these lines leads to payouts_root.')
  return lines
}
