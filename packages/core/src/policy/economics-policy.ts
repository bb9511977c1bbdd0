import { isPlainObject } from '../encoding/plain-object.ts'
import { type Field, int, intsByName, oneOf, u64OrNull } from './policy-field.ts'
import type { SettingsOf } from './settings-table.ts'

/** Amounts in basis points; each row of `split_bps` adds up to this. */
export const BPS = 10_000
/** The most that a claim or a budget can be, so that no sum leaves 64 bits. */
export const CLAIM_MAX = 1_000_000_000_000
export const BUDGET_MAX = 1_000_000_000_000_000_000n

const rate = { min: 0, max: 1_000_000_000 }
const multiplier = { min: 0, max: 10_000_000 }
const bps = { min: 0, max: BPS }
const DEPTH_ROWS_MAX = 64

/** The multiplier of quantum work up to a depth; null is any depth. */
export interface DepthRow {
  readonly max: number | null
  readonly dPpm: number
}

/** The worth of work, who gets it, and the budget of an epoch (SETTLE-1). */
// biome-ignore format: one setting a line, so that the table can be read as one
export const ECONOMICS_FIELDS = {
  baseRate: {
    ai: int(1_000, rate, 'base units for a unit of ai work'),
    quantum: int(5_000, rate, 'base units for a unit of quantum work'),
  },
  modelRate: intsByName({}, rate, 'base units for a unit of ai work by single models'),
  qPpm: {
    gold: int(1_100_000, multiplier, 'part of the rate that a provider in gold gets'),
    silver: int(1_000_000, multiplier, 'part of the rate that a provider in silver gets'),
    bronze: int(850_000, multiplier, 'part of the rate that a provider in bronze gets'),
    fail: int(0, multiplier, 'part of the rate that a provider below bronze gets'),
  },
  depth: depthRows(
    [{ max: 16, dPpm: 1_000_000 }, { max: 32, dPpm: 1_500_000 }, { max: null, dPpm: 2_000_000 }],
    'multipliers of quantum work by depth; the first row that is deep enough counts',
  ),
  maxPerClaim: int(CLAIM_MAX, { min: 0, max: CLAIM_MAX }, 'most base units for one claim'),
  splitBps: {
    ai: split({ provider: 8_000, miner: 1_500, fund: 500 }, 'ai work'),
    quantum: split({ provider: 7_000, miner: 2_500, fund: 500 }, 'quantum work'),
  },
  gammaFund: u64OrNull(null, BUDGET_MAX, 'base units that an epoch may cost'),
  cap: oneOf('scale', ['scale', 'defer'], 'whether an epoch over its budget pays all in part, or some later'),
  carryPpm: int(0, { min: 0, max: 1_000_000 }, 'part of an unused budget that the next epoch has too'),
} as const

export type Economics = SettingsOf<typeof ECONOMICS_FIELDS>

/** Rules across several settings, each of which is sound by itself (POLICY-6). */
export function economicsProblems({ splitBps }: Economics): string[] {
  return Object.entries(splitBps).flatMap(([kind, { provider, miner, fund }]) => {
    const sum = provider + miner + fund
    if (sum === BPS) return []
    return [`economics.split_bps.${kind}: expected shares that add up to ${BPS}, got ${sum}`]
  })
}

function split(shares: Record<'provider' | 'miner' | 'fund', number>, work: string) {
  return {
    provider: int(shares.provider, bps, `share of the provider in ${work}, in basis points`),
    miner: int(shares.miner, bps, `share of the miner in ${work}, in basis points`),
    fund: int(shares.fund, bps, `share of the fund in ${work}, in basis points`),
  }
}

function depthRows(value: readonly DepthRow[], purpose: string): Field<readonly DepthRow[]> {
  return {
    default: value,
    expected: `a list of at most ${DEPTH_ROWS_MAX} rows {max, d_ppm}`,
    purpose,
    read: (written) => (depthProblems(written).length === 0 ? readRows(written) : undefined),
    problems: depthProblems,
    show: (rows) => rows.map(({ max, dPpm }) => ({ max, d_ppm: dPpm })),
  }
}

function readRows(written: unknown): readonly DepthRow[] | undefined {
  if (!Array.isArray(written)) return undefined
  return written.map((row) => ({ max: row.max, dPpm: row.d_ppm }))
}

/** Empty for something that is no list at all: then the whole setting is the problem. */
function depthProblems(written: unknown): string[] {
  if (!Array.isArray(written)) return []
  if (written.length === 0 || written.length > DEPTH_ROWS_MAX) {
    return [`: expected 1 to ${DEPTH_ROWS_MAX} rows, got ${written.length}`]
  }
  const problems: string[] = []
  let before = -1
  written.forEach((row: unknown, i) => {
    if (!isPlainObject(row) || Object.keys(row).some((key) => key !== 'max' && key !== 'd_ppm')) {
      problems.push(`[${i}]: expected {max, d_ppm}`)
      return
    }
    const { max, d_ppm: dPpm } = row
    const { read, expected } = D_PPM
    if (read(dPpm) === undefined) problems.push(`[${i}].d_ppm: expected ${expected}`)
    if (i === written.length - 1) {
      if (max !== null) problems.push(`[${i}].max: expected null in the last row, for any depth`)
    } else if (!Number.isSafeInteger(max) || (max as number) <= before) {
      problems.push(`[${i}].max: expected a whole number above the row before (${before})`)
    } else before = max as number
  })
  return problems
}

const D_PPM = int(0, multiplier, '')
