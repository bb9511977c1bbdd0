import { isPlainObject } from '../encoding/plain-object.ts'
import type { PlatformPolicy, PlatformRows } from './platform-policy.ts'
import { exactThousandths, type Field } from './policy-field.ts'

type FieldName = keyof PlatformPolicy

interface Column {
  readonly name: FieldName
  /** Returns undefined for a value that is refused. */
  readonly read: (written: unknown) => PlatformPolicy[FieldName] | undefined
  readonly show?: (value: never) => unknown
}

/** The fields of a platform's row in written form (BUDGET-1). */
const COLUMNS: Readonly<Record<string, Column>> = {
  max_concurrency: { name: 'maxConcurrency', read: int(1, 100_000) },
  burst: { name: 'burst', read: int(1, 100_000) },
  max_rps: {
    name: 'maxRpsMilli',
    read: (written) => {
      const milli = typeof written === 'number' ? exactThousandths(written) : null
      return milli !== null && milli >= 1 && milli <= 100_000_000 ? milli : undefined
    },
    show: (milli: number) => milli / 1_000,
  },
  min_spacing_ms: { name: 'minSpacingMs', read: int(0, 3_600_000) },
  window_ms: { name: 'windowMs', read: int(0, 86_400_000) },
  backoff_ms: {
    name: 'backoffMs',
    read: (written) => {
      const isList = Array.isArray(written) && written.length > 0 && written.length <= 100
      return isList && written.every((ms) => int(0, 86_400_000)(ms) !== undefined)
        ? [...(written as number[])]
        : undefined
    },
  },
  idempotency_key_supported: { name: 'idempotencyKeySupported', read: flag },
  lookup_supported: { name: 'lookupSupported', read: flag },
  error_taxonomy: {
    name: 'errorTaxonomy',
    read: (written) => table(written, (one) => CLASSES.find((name) => name === one)),
  },
  retry_on_http: {
    name: 'retryOnHttp',
    read: (written) => {
      if (written === null) return null
      const isList = Array.isArray(written) && written.length <= 400
      return isList && written.every((status) => int(200, 599)(status) !== undefined)
        ? [...(written as number[])]
        : undefined
    },
  },
  weights: {
    name: 'weights',
    read: (written) => (written === null ? null : table(written, int(1, 1_000_000))),
  },
  time_zone: { name: 'timeZone', read: zone },
}

const CLASSES = ['transient', 'permanent', 'unknown'] as const

/** Rows by platform; `default` applies to all of them. Missing fields are inherited. */
export function platforms(purpose: string): Field<PlatformRows> {
  return {
    default: {},
    expected: `an object of platforms, each with any of ${Object.keys(COLUMNS).join(', ')}`,
    purpose,
    read: (written) => table(written, readRow),
    show: (rows) =>
      Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, shownRow(row)])),
  }
}

function readRow(written: unknown): Partial<PlatformPolicy> | undefined {
  if (!isPlainObject(written)) return undefined
  const row: Record<string, unknown> = {}
  for (const [label, value] of Object.entries(written)) {
    const column = Object.hasOwn(COLUMNS, label) ? COLUMNS[label] : undefined
    const read = column?.read(value)
    if (column === undefined || read === undefined) return undefined
    row[column.name] = read
  }
  return row
}

function shownRow(row: Partial<PlatformPolicy>): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [label, { name, show }] of Object.entries(COLUMNS)) {
    const value = row[name]
    if (value !== undefined) shown[label] = show === undefined ? value : show(value as never)
  }
  return shown
}

function int(min: number, max: number): (written: unknown) => number | undefined {
  return (written) =>
    Number.isSafeInteger(written) && (written as number) >= min && (written as number) <= max
      ? (written as number)
      : undefined
}

/** Accepts the form of an IANA name, such as `Europe/Berlin`. The rules have no list of zones; a host has one. */
function zone(written: unknown): string | undefined {
  const isName = typeof written === 'string' && /^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(written)
  return isName ? written : undefined
}

function flag(written: unknown): boolean | undefined {
  return typeof written === 'boolean' ? written : undefined
}

/** Values by an arbitrary name; undefined if one of them is refused. */
function table<T>(
  written: unknown,
  read: (value: unknown) => T | undefined,
): Readonly<Record<string, T>> | undefined {
  if (!isPlainObject(written)) return undefined
  const entries: [string, T][] = []
  for (const [name, value] of Object.entries(written)) {
    const kept = read(value)
    if (kept === undefined || name === '') return undefined
    entries.push([name, kept])
  }
  return Object.fromEntries(entries)
}
