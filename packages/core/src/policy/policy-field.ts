import { isPlainObject } from '../encoding/plain-object.ts'
import { readU64, showU64 } from '../encoding/u64.ts'

/**
 * The kinds of value that a setting can have. A field knows its default, what it accepts (`expected`, in words),
 * why it exists (`purpose`), and how to read its written form; `undefined` means refused.
 */
export interface Field<T> {
  readonly default: T
  readonly expected: string
  readonly purpose: string
  readonly read: (written: unknown) => T | undefined
  /** For a value of many parts: the problems of its parts, one line each, to follow the path. */
  readonly problems?: (written: unknown) => readonly string[]
  /** The written form of a value, for the reference page and for showing a policy. */
  show(value: T): unknown
}

interface Bounds {
  readonly min: number
  readonly max: number
}

export function int(value: number, bounds: Bounds, purpose: string): Field<number> {
  return {
    default: value,
    expected: `a whole number from ${bounds.min} to ${bounds.max}`,
    purpose,
    read: (written) => (isIntWithin(written, bounds) ? written : undefined),
    show: same,
  }
}

/** An amount that may exceed 2^53: fees, stakes, chain ids. */
export function u64(value: bigint, min: bigint, purpose: string): Field<bigint> {
  return {
    default: value,
    expected: `a whole number from ${min} to 2^64 − 1 (above 2^53 − 1 as a decimal string)`,
    purpose,
    read: (written) => {
      const read = readU64(written)
      return read !== null && read >= min ? read : undefined
    },
    show: showU64,
  }
}

/** An amount that may exceed 2^53, or null for no limit. */
export function u64OrNull(
  value: bigint | null,
  max: bigint,
  purpose: string,
): Field<bigint | null> {
  return {
    default: value,
    expected: `a whole number from 0 to ${max} (above 2^53 − 1 as a decimal string), or null for no limit`,
    purpose,
    read: (written) => {
      if (written === null) return null
      const read = readU64(written)
      return read !== null && read <= max ? read : undefined
    },
    show: (kept) => (kept === null ? null : showU64(kept)),
  }
}

/** A name of 1 to `max` characters. */
export function text(value: string, max: number, purpose: string): Field<string> {
  return {
    default: value,
    expected: `text of 1 to ${max} characters`,
    purpose,
    read: (written) => {
      const isText = typeof written === 'string' && written.isWellFormed()
      return isText && written.length >= 1 && written.length <= max ? written : undefined
    },
    show: same,
  }
}

/** A count that may be unlimited: `null` is no limit, 0 is a limit of zero. */
export function limit(value: number | null, bounds: Bounds, purpose: string): Field<number | null> {
  return {
    default: value,
    expected: `a whole number from ${bounds.min} to ${bounds.max}, or null for no limit`,
    purpose,
    read: (written) => (written === null || isIntWithin(written, bounds) ? written : undefined),
    show: same,
  }
}

/** A decimal of at most three places, kept as integer thousandths: integers decide (POLICY-3). */
export function thousandths(value: number, bounds: Bounds, purpose: string): Field<number> {
  return {
    default: value,
    expected: `a decimal from ${bounds.min / 1000} to ${bounds.max / 1000} with at most three places`,
    purpose,
    read: (written) => {
      const read = typeof written === 'number' ? exactThousandths(written) : null
      return isIntWithin(read, bounds) ? read : undefined
    },
    show: (kept) => kept / 1000,
  }
}

export function oneOf<T extends string>(
  value: T,
  choices: readonly T[],
  purpose: string,
): Field<T> {
  return {
    default: value,
    expected: `one of ${choices.join(', ')}`,
    purpose,
    read: (written) => choices.find((choice) => choice === written),
    show: same,
  }
}

export function flag(value: boolean, purpose: string): Field<boolean> {
  return {
    default: value,
    expected: 'true or false',
    purpose,
    read: (written) => (typeof written === 'boolean' ? written : undefined),
    show: same,
  }
}

/** Whole numbers by name. The operator chooses the names. */
export function intsByName(
  value: Readonly<Record<string, number>>,
  bounds: Bounds,
  purpose: string,
): Field<Readonly<Record<string, number>>> {
  return {
    default: value,
    expected: `an object of whole numbers from ${bounds.min} to ${bounds.max}`,
    purpose,
    read: (written) =>
      isPlainObject(written) && Object.values(written).every((n) => isIntWithin(n, bounds))
        ? { ...(written as Record<string, number>) }
        : undefined,
    show: same,
  }
}

export function names(value: readonly string[], purpose: string): Field<readonly string[]> {
  return {
    default: value,
    expected: 'a list of texts',
    purpose,
    read: (written) => (isNames(written) ? [...written] : undefined),
    show: same,
  }
}

/** An optional list: `null` lets everyone pass, `[]` nobody. */
export function allowList(purpose: string): Field<readonly string[] | null> {
  return {
    default: null,
    expected: 'a list of texts, or null for no such list',
    purpose,
    read: (written) => (isNames(written) ? [...written] : written === null ? null : undefined),
    show: same,
  }
}

/** At most `jobs` in any span of `secs`, or null for no limit. */
export function window(
  purpose: string,
): Field<{ readonly jobs: number; readonly secs: number } | null> {
  return {
    default: null,
    expected: '{jobs: 0 or more, secs: 1 to 86400}, or null for no limit',
    purpose,
    read: (written) => {
      if (written === null) return null
      if (!isPlainObject(written) || Object.keys(written).length !== 2) return undefined
      const { jobs, secs } = written
      if (!isIntWithin(jobs, { min: 0, max: 1_000_000_000 })) return undefined
      return isIntWithin(secs, { min: 1, max: 86_400 }) ? { jobs, secs } : undefined
    },
    show: same,
  }
}

/** `0.55` → 550; null for more than three decimals, which integer thousandths cannot express. */
export function exactThousandths(value: number): number | null {
  if (!Number.isFinite(value) || Math.abs(value) > 1e9) return null
  const [, decimals = ''] = /^-?\d+(?:\.(\d+))?$/.exec(String(value)) ?? [null, '----']
  return decimals.length <= 3 ? Math.round(value * 1000) : null
}

function isIntWithin(value: unknown, { min, max }: Bounds): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '')
}

function same<T>(value: T): T {
  return value
}
