import {
  FairleadError,
  type PayoutProof,
  type SettledBatch,
  showPayoutProof,
  showSettledBatch,
} from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import type { BatchFile, CheckedParamsOf, PayoutsFile } from '@fairlead/protocol'

const LINES = 1_000

interface Kept {
  readonly key: string
  readonly value: unknown
}

/**
 * Settlements in pages of lines. A batch never changes, and a client asks for its pages one after another. So the
 * newest one that had more than a page is kept, and read from the store once.
 */
export class SettlementDesk {
  readonly #engine: Engine
  #kept: Kept | null = null

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async batch(
    params: CheckedParamsOf<'aicf.getSettlement'>,
  ): Promise<{ settlement: BatchFile; cursor: string | null }> {
    const { epoch_id: epochId } = params
    const key = `batch ${epochId}`
    const settled = await this.#read<SettledBatch>(key, () => this.#engine.fund.settlement(epochId))
    if (settled === null) throw noBatch(epochId)
    const { claims, payouts } = settled
    const { from, to, cursor } = this.#page(params, key, settled, claims.length + payouts.length)
    const page = {
      ...settled,
      claims: claims.slice(from, to),
      payouts: payouts.slice(Math.max(0, from - claims.length), Math.max(0, to - claims.length)),
    }
    return { settlement: showSettledBatch(page) as unknown as BatchFile, cursor }
  }

  async payouts(
    params: CheckedParamsOf<'aicf.claimPayout'>,
  ): Promise<{ proof: PayoutsFile; cursor: string | null }> {
    const { provider_id: id, epoch_id: epochId } = params
    const key = `payouts ${id} ${epochId}`
    const proof = await this.#read<PayoutProof>(key, () => this.#engine.fund.payouts(id, epochId))
    if (proof === null) throw noBatch(epochId)
    const { from, to, cursor } = this.#page(params, key, proof, proof.payouts.length)
    const page = { ...proof, payouts: proof.payouts.slice(from, to) }
    return { proof: showPayoutProof(page) as unknown as PayoutsFile, cursor }
  }

  async #read<Value>(key: string, read: () => Promise<Value | null>): Promise<Value | null> {
    return this.#kept?.key === key ? (this.#kept.value as Value) : read()
  }

  #page(
    {
      cursor,
      limit = LINES,
    }: { readonly cursor?: string | undefined; readonly limit?: number | undefined },
    key: string,
    value: unknown,
    lines: number,
  ): { from: number; to: number; cursor: string | null } {
    const from = cursor === undefined ? 0 : Number(cursor)
    const to = from + limit
    const isLast = to >= lines
    if (!isLast) this.#kept = { key, value }
    else if (this.#kept?.key === key) this.#kept = null
    return { from, to, cursor: isLast ? null : String(to) }
  }
}

function noBatch(epochId: number): FairleadError {
  return new FairleadError('NotFound', `there is no batch of epoch ${epochId}`, { id: epochId })
}
