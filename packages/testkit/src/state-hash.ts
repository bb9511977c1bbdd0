import { CborFloat, type CborValue, encodeCbor, type Store, toHex } from '@fairlead/core'
import { sha3 } from '@fairlead/core/internal'

/** SHA3 over the canonical CBOR of all rows, by table and id: two stores with one hash are alike. */
export async function stateHash(store: Pick<Store, 'read'>): Promise<string> {
  const rows = (await store.read.everything()).map(([table, row]) => [table, plain(row)])
  return toHex(sha3(encodeCbor(rows as CborValue)))
}

/** Rows may hold what JSON has, bigints and bytes; anything else would be a mistake. */
function plain(value: unknown): CborValue {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return new CborFloat(value)
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) {
    return value as CborValue
  }
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}
