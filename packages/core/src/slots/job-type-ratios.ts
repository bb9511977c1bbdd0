import { compareText } from '../encoding/text.ts'
import { FairleadError, invalidParams } from '../errors.ts'

/** Ratios are in millionths. Those of all job types of an instance always add up to this. */
export const WHOLE_PPM = 1_000_000

export type Ratios = ReadonlyMap<string, number>

/** When ratios move, and how far. All values but the counts are millionths. */
export interface RatioPolicy {
  readonly lowPpm: number
  readonly highPpm: number
  readonly minRatioPpm: number
  readonly maxAdjustmentPpm: number
}

export const RATIO_POLICY: RatioPolicy = {
  lowPpm: 300_000,
  highPpm: 700_000,
  minRatioPpm: 10_000,
  maxAdjustmentPpm: 200_000,
}

/** Given ratios stay; the other types share the rest equally (SLOT-8). */
export function initRatios(
  types: readonly { readonly name: string; readonly initialPpm: number | null }[],
): Ratios {
  for (const { name, initialPpm } of types) {
    if (initialPpm !== null && !(Number.isSafeInteger(initialPpm) && initialPpm >= 0)) {
      throw invalidParams(`${name}.ratio`, 'millionths from 0 to 1,000,000')
    }
  }
  const given = types.reduce((sum, { initialPpm }) => sum + (initialPpm ?? 0), 0)
  const open = types.filter(({ initialPpm }) => initialPpm === null).map(({ name }) => name)
  const rest = WHOLE_PPM - given
  if (rest < 0 || (rest > 0 && open.length === 0)) {
    throw new FairleadError(
      'InvalidParams',
      `ratios: expected a sum of 1, got ${given / WHOLE_PPM}; leave one out and it gets the rest`,
      { field: 'ratios' },
    )
  }
  const each = Math.floor(rest / open.length)
  const extra = new Set(open.toSorted(compareText).slice(0, rest - each * open.length))
  return new Map(
    types.map(({ name, initialPpm }) => [name, initialPpm ?? each + (extra.has(name) ? 1 : 0)]),
  )
}

/** The load of a job type: `used` of `slots`, or null if it is unknown. */
export interface TypeLoad {
  readonly name: string
  readonly ratioPpm: number
  readonly flexible: boolean
  readonly slots: number | null
  readonly used: number
}

/** Moves capacity from idle types to busy ones (SLOT-9). The sum never changes. */
export function adjustRatios(types: readonly TypeLoad[], policy: RatioPolicy): Ratios {
  const ratios = new Map(types.map(({ name, ratioPpm }) => [name, ratioPpm]))
  // A type that has borrowed uses more than its slots; it counts as full.
  const movable = types
    .filter(isMovable)
    .map((type) => ({ ...type, used: Math.min(type.used, type.slots) }))
  const donors = movable.filter(
    ({ used, slots, ratioPpm }) =>
      compareLoad(used, slots, policy.lowPpm) < 0 && ratioPpm > policy.minRatioPpm,
  )
  const receivers = movable.filter(
    ({ used, slots }) => compareLoad(used, slots, policy.highPpm) > 0,
  )
  if (donors.length === 0 || receivers.length === 0) return ratios

  let pot = 0
  for (const donor of donors) {
    const gift = giftOf(donor, policy)
    pot += gift
    ratios.set(donor.name, donor.ratioPpm - gift)
  }
  for (const [name, part] of sharedOut(pot, receivers)) {
    ratios.set(name, (ratios.get(name) ?? 0) + part)
  }
  return ratios
}

interface MovableType extends TypeLoad {
  readonly slots: number
}

function isMovable(type: TypeLoad): type is MovableType {
  return type.flexible && type.slots !== null && type.slots > 0
}

function compareLoad(used: number, slots: number, ppm: number): number {
  return Number(BigInt(used) * BigInt(WHOLE_PPM) - BigInt(ppm) * BigInt(slots))
}

function giftOf({ ratioPpm, slots, used }: MovableType, policy: RatioPolicy): number {
  const most = Math.min(ratioPpm - policy.minRatioPpm, policy.maxAdjustmentPpm)
  return Number((BigInt(most) * BigInt(slots - used)) / BigInt(slots))
}

/**
 * Shares the pot by load, rounded down. The remainder goes to the highest load, among equals to the first by name.
 */
function sharedOut(pot: number, receivers: readonly MovableType[]): Map<string, number> {
  // Loads as whole numbers over one denominator, so that they add up exactly.
  const whole = receivers.reduce((product, { slots }) => product * BigInt(slots), 1n)
  const loads = receivers
    .map(({ name, used, slots }) => ({ name, load: (BigInt(used) * whole) / BigInt(slots) }))
    .sort((a, b) => (a.load === b.load ? compareText(a.name, b.name) : a.load > b.load ? -1 : 1))
  const total = loads.reduce((sum, { load }) => sum + load, 0n)
  const parts = new Map(loads.map(({ name, load }) => [name, Number((BigInt(pot) * load) / total)]))
  const given = [...parts.values()].reduce((sum, part) => sum + part, 0)
  const busiest = (loads[0] as { name: string }).name
  return parts.set(busiest, (parts.get(busiest) ?? 0) + pot - given)
}
