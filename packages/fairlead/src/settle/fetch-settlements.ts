import type { NodeClient } from '@fairlead/client'
import type { BatchFile, PayoutsFile, ResultOf } from '@fairlead/protocol'

export type Listed = ResultOf<'aicf.listSettlements'>['settlements'][number]

const PAGE = 1_000
const LINES = 5_000

/** The newest settlements, newest first. */
export async function listedSettlements(client: NodeClient, limit: number): Promise<Listed[]> {
  const found: Listed[] = []
  let cursor: string | null = null
  do {
    const page: ResultOf<'aicf.listSettlements'> = await client.call('aicf.listSettlements', {
      ...(cursor === null ? {} : { cursor }),
      limit: Math.min(PAGE, limit - found.length),
    })
    found.push(...page.settlements)
    cursor = page.cursor
  } while (cursor !== null && found.length < limit)
  return found
}

/** A batch with all its lines. */
export async function fetchBatch(client: NodeClient, epoch_id: number): Promise<BatchFile> {
  const which = { epoch_id, limit: LINES }
  const first = await client.call('aicf.getSettlement', which)
  const { settlement } = first
  let { cursor } = first
  while (cursor !== null) {
    const page: ResultOf<'aicf.getSettlement'> = await client.call('aicf.getSettlement', {
      ...which,
      cursor,
    })
    settlement.claims.push(...page.settlement.claims)
    settlement.payouts.push(...page.settlement.payouts)
    cursor = page.cursor
  }
  return settlement
}

/** All payouts of a provider in the batch of an epoch. */
export async function fetchPayouts(
  client: NodeClient,
  provider_id: string,
  epoch_id: number,
): Promise<PayoutsFile> {
  const which = { provider_id, epoch_id, limit: LINES }
  const first = await client.call('aicf.claimPayout', which)
  const { proof } = first
  let { cursor } = first
  while (cursor !== null) {
    const page: ResultOf<'aicf.claimPayout'> = await client.call('aicf.claimPayout', {
      ...which,
      cursor,
    })
    proof.payouts.push(...page.proof.payouts)
    cursor = page.cursor
  }
  return proof
}
