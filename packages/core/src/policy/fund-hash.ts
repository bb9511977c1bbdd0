import { type CborMap, type CborValue, encodeCbor } from '../encoding/cbor.ts'
import { sha3Hex } from '../encoding/hash.ts'
import { ECONOMICS_FIELDS } from './economics-policy.ts'
import type { Policy } from './policy.ts'
import type { Field } from './policy-field.ts'
import { type SettingsTable, snakeCase } from './settings-table.ts'
import { SLA_FIELDS } from './sla-policy.ts'

/** The settings by which money moves. A batch names them by their hash (SETTLE-12). */
export type FundPolicy = Pick<Policy, 'economics' | 'sla'>

/** `SHA3(cbor({economics, sla}))`, every setting under its written name. */
export function policyHash({ economics, sla }: FundPolicy): string {
  return sha3Hex(
    encodeCbor({ economics: hashed(ECONOMICS_FIELDS, economics), sla: hashed(SLA_FIELDS, sla) }),
  )
}

function hashed(table: SettingsTable, values: Readonly<Record<string, unknown>>): CborMap {
  const entries = Object.entries(table).map(([key, entry]): [string, CborValue] => {
    const value = values[key]
    if (typeof entry.read !== 'function') {
      return [snakeCase(key), hashed(entry as SettingsTable, value as Record<string, unknown>)]
    }
    // The JSON form of a large amount is text, but what is hashed is the integer.
    const isAmount = typeof value === 'bigint'
    const written = isAmount ? value : (entry as Field<unknown>).show(value)
    return [snakeCase(key), written as CborValue]
  })
  return Object.fromEntries(entries)
}
