import type { NodeClient } from '@fairlead/client'
import { type AuditEntry, readSettlement, type SettledBatch } from '@fairlead/core'
import { auditPages } from '../../audit.ts'
import { fetchBatch, fetchPayouts, listedSettlements } from '../../settle/fetch-settlements.ts'
import { amountText } from './amount-text.ts'
import { FUND_PROVIDERS } from './cast.ts'
import type { FundEvents } from './fund-events.ts'
import type { FundFigures, FundProviderFigures } from './fund-figures.ts'
import { checkedPayouts, verifyFund } from './verify-fund.ts'

const ALL = Number.MAX_SAFE_INTEGER
const PROVED = 'provider:atlas'

/** What a fund did, from its server; the settled epochs are verified here, without trust in it. */
export async function liveFigures(
  admin: NodeClient,
  events: FundEvents,
  isDone: boolean,
): Promise<FundFigures> {
  const listed = (await listedSettlements(admin, ALL)).toReversed()
  const batches: SettledBatch[] = []
  for (const { batch } of listed) {
    const file = readSettlement(await fetchBatch(admin, batch.epoch_id))
    if (file.format === 'fairlead-batch-1') batches.push(file)
  }
  const wrong = verifyFund(batches, await auditOf(admin))
  if (!isDone) wrong.unshift('not all jobs were settled in time')
  const newest = batches.findLast(({ payouts }) =>
    payouts.some(({ claim }) => claim.providerId === PROVED),
  )
  const proof =
    newest === undefined
      ? `${PROVED} was paid nothing`
      : checkedPayouts(await fetchPayouts(admin, PROVED, newest.batch.epochId))
  if (typeof proof === 'string') wrong.push(proof)
  const providers = await Promise.all(
    FUND_PROVIDERS.map((member) => providerFigures(admin, events, member)),
  )
  const books = await booksOf(admin, providers)
  const sum = Object.values(books).reduce<bigint>((all, one) => all + BigInt(one), 0n)
  if (sum !== 0n) wrong.push(`the balances add up to ${sum}`)
  return {
    settlements: listed.map(({ batch_id, batch: { epoch_id, totals } }) => ({
      ...{ epoch_id, batch_id, claims: totals.claims, gross: totals.gross, paid: totals.paid },
      ...{ provider: totals.provider, miner: totals.miner, fund: totals.fund },
      slashed: totals.slashed,
      unstaked: amountText(
        Object.values(totals.unstaked).reduce<bigint>((all, one) => all + BigInt(one), 0n),
      ),
    })),
    providers,
    slashes: events.slashes,
    payout_proof: typeof proof === 'string' ? null : proof,
    books,
    wrong,
  }
}

async function providerFigures(
  admin: NodeClient,
  events: FundEvents,
  { name, manner }: (typeof FUND_PROVIDERS)[number],
): Promise<FundProviderFigures> {
  const provider_id = `provider:${name}`
  const { provider } = await admin.call('aicf.getProvider', { provider_id })
  const { available } = await admin.call('aicf.getBalance', { account: provider_id })
  return {
    ...{ provider_id, manner, available },
    status: provider.status,
    band: provider.service[0]?.band ?? '-',
    completed: events.completedBy.get(provider_id) ?? 0,
    not_proved: events.unprovedBy.get(provider_id) ?? 0,
    slashed: amountText(events.slashedBy.get(provider_id) ?? 0n),
    stake: provider.stake_u64,
  }
}

/** All accounts of the demo; those at 0 are left out. */
async function booksOf(
  admin: NodeClient,
  providers: readonly FundProviderFigures[],
): Promise<Record<string, number | string>> {
  const books: [string, number | string][] = []
  for (const account of ['external', 'fund', 'issuance', 'miner:operator']) {
    const { available } = await admin.call('aicf.getBalance', { account })
    books.push([account, available])
  }
  for (const { provider_id: account } of providers) {
    const { available, stake, unstaking } = await admin.call('aicf.getBalance', { account })
    const leaving = unstaking.reduce<bigint>((sum, { amount }) => sum + BigInt(amount), 0n)
    books.push([account, available], [`stake:${account}`, stake])
    books.push([`unstaking:${account}`, amountText(leaving)])
  }
  return Object.fromEntries(books.filter(([, balance]) => balance !== 0))
}

async function auditOf(admin: NodeClient): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for await (const page of auditPages(admin, { afterSeq: 0, limit: ALL })) {
    for (const { prev_hash: prevHash, ...rest } of page) {
      entries.push({ ...rest, prevHash } as unknown as AuditEntry)
    }
  }
  return entries
}
