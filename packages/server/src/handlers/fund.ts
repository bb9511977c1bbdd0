import { FairleadError, fromHex, type ProviderId } from '@fairlead/core'
import { EXTERNAL, ISSUANCE, invalidParams, showBatch } from '@fairlead/core/internal'
import type { Balance, Engine, SettledEpoch } from '@fairlead/engine'
import type { BatchRecord } from '@fairlead/protocol'
import { amountRecord } from '../records/amount-record.ts'
import { claimRecord } from '../records/claim-record.ts'
import { actingAs, type Call, type Handlers, hasChain, providerOf } from '../rpc/call.ts'

export const submitProof: Handlers['aicf.submitProof'] = async ({ envelope }, call, { engine }) => {
  const { role, subject } = call.identity
  const by = role === 'provider' ? (subject as ProviderId) : null
  const { claim, finalizedHeight } = await engine.fund.submitProof(
    bytesOf(envelope),
    by,
    actingAs(call),
  )
  return { claim: claimRecord(claim, finalizedHeight, hasChain(engine)) }
}

export const getBalance: Handlers['aicf.getBalance'] = ({ account }, call, { engine }) => {
  const wanted = accountOf(call, account)
  const { available, stake, unstaking, due } = accountIn(engine, wanted)
  return {
    account: wanted,
    available: amountRecord(available),
    stake: amountRecord(stake),
    unstaking: unstaking.map(({ amount, maturesAt }) => ({
      amount: amountRecord(amount),
      matures_at: maturesAt,
    })),
    due: amountRecord(due),
  }
}

export const listSettlements: Handlers['aicf.listSettlements'] = async (params, _, { engine }) => {
  const { cursor, limit = 100 } = params
  const settlements = await engine.fund.settledEpochs({
    ...(cursor === undefined ? {} : { beforeEpoch: Number(cursor) }),
    limit,
  })
  const last = settlements.length < limit ? undefined : settlements.at(-1)
  return {
    settlements: settlements.map(listed),
    cursor: last === undefined || last.epochId === 0 ? null : String(last.epochId),
  }
}

export const getSettlement: Handlers['aicf.getSettlement'] = (params, _, { settlements }) =>
  settlements.batch(params)

export const claimPayout: Handlers['aicf.claimPayout'] = (params, call, { settlements }) => {
  const provider_id = providerOf(call, params.provider_id)
  return settlements.payouts({ ...params, provider_id })
}

export const closeEpoch: Handlers['aicf.closeEpoch'] = async ({ epoch_id }, call, { engine }) => {
  const settled = await engine.fund.closeEpoch(epoch_id, actingAs(call))
  return { settlement: settled === null ? null : listed(settled) }
}

export const recordPayout: Handlers['aicf.recordPayout'] = async (params, call, { engine }) => {
  const { account, amount, reference } = params
  const payout = { account, amount: BigInt(amount), reference }
  const available = await engine.fund.recordPayout(payout, actingAs(call))
  return { account, available: amountRecord(available) }
}

export const chainBlock: Handlers['chain.block'] = async (params, call, { engine }) => {
  const { height, time, miner_id: minerId, proofs = [] } = params
  const block = {
    height,
    timeMs: time,
    minerId,
    proofs: proofs.map(({ envelope, tx_hash }) => ({
      envelope: bytesOf(envelope),
      txHash: tx_hash,
    })),
  }
  const applied = await engine.fund.applyBlock(block, actingAs(call))
  const { head, finalHeight, accepted, refused } = applied
  return { head, final_height: finalHeight, accepted, refused }
}

/** A provider has one account, others name theirs. */
function accountOf({ identity: { role, subject } }: Call, named: string | undefined): string {
  if (role !== 'provider') {
    if (named !== undefined) return named
    throw invalidParams('account', 'the name of an account, as in provider:atlas or fund')
  }
  if (named === undefined || named === subject) return subject
  throw new FairleadError('Forbidden', `this token is for ${subject}, not for ${named}`, {
    account: named,
  })
}

/** The two sides of the books that may owe have a balance and nothing else. */
function accountIn({ fund }: Engine, account: string): Balance {
  if (account !== ISSUANCE && account !== EXTERNAL) return fund.balanceOf(account)
  const [, available = 0n] = fund.balances().find(([name]) => name === account) ?? []
  return { account, available, stake: 0n, unstaking: [], due: 0n }
}

function listed({ batchId, batch }: SettledEpoch): { batch_id: string; batch: BatchRecord } {
  return { batch_id: batchId, batch: showBatch(batch) as unknown as BatchRecord }
}

/** Bytes that the schema has checked. */
function bytesOf(hex: string): Uint8Array {
  return fromHex(hex) as Uint8Array
}
