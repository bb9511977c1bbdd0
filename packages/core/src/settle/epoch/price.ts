import { floorDiv, times } from '../../encoding/exact-int.ts'
import type { KindName } from '../../enqueue/kinds.ts'
import { invariant } from '../../errors.ts'
import { BPS, type Economics } from '../../policy/economics-policy.ts'
import type { Band } from '../../policy/sla-policy.ts'

/** Kinds whose claims are paid: those that have proofs. */
export type PaidKind = 'ai' | 'quantum'

/** Parts of an amount in basis points, which add up to 10,000. */
export interface SplitBps {
  readonly provider: number
  readonly miner: number
  readonly fund: number
}

export interface Price {
  readonly rate: number
  readonly qPpm: number
  readonly dPpm: number
  readonly gross: number
  readonly split: SplitBps
}

/** The work of a claim, as far as its price depends on it. */
export interface PricedWork {
  readonly kind: KindName
  readonly unitsPpm: bigint
  readonly band: Band
  /** ai: the model. */
  readonly model: string | null
  /** quantum, else 0. */
  readonly depthHint: number
}

/** The price of a claim at the moment at which it becomes FINAL (SETTLE-1). It is never priced again. */
export function priceClaim(work: PricedWork, economics: Economics): Price {
  const { kind, unitsPpm, band } = work
  invariant(kind === 'ai' || kind === 'quantum', `${kind} work has no price`)
  const rate = rateOf(kind, work.model, economics)
  const qPpm = economics.qPpm[band]
  const dPpm = kind === 'ai' ? 1_000_000 : depthPpm(work.depthHint, economics)
  const worth = (unitsPpm * BigInt(rate) * BigInt(qPpm) * BigInt(dPpm)) / 10n ** 18n
  const { maxPerClaim } = economics
  const gross = worth < BigInt(maxPerClaim) ? Number(worth) : maxPerClaim
  return { rate, qPpm, dPpm, gross, split: economics.splitBps[kind] }
}

/** The three parts of an amount; the fund has what flooring leaves (SETTLE-3). */
export function splitAmount(amount: number, bps: SplitBps): SplitBps {
  const provider = part(amount, bps.provider)
  const miner = part(amount, bps.miner)
  return { provider, miner, fund: amount - provider - miner }
}

function part(amount: number, bps: number): number {
  return floorDiv(times(amount, bps), BPS) as number
}

function rateOf(kind: PaidKind, model: string | null, { baseRate, modelRate }: Economics): number {
  if (kind !== 'ai' || model === null || !Object.hasOwn(modelRate, model)) return baseRate[kind]
  return modelRate[model] as number
}

function depthPpm(depthHint: number, { depth }: Economics): number {
  const row = depth.find(({ max }) => max === null || depthHint <= max)
  invariant(row !== undefined, 'the last row of economics.depth is for any depth')
  return row.dPpm
}
