/** Unsigned 64-bit integers in JSON: a number up to 2^53 − 1, a decimal string above (VALUE-2). */

export const U64_MAX = (1n << 64n) - 1n

/** The value of either form; null if it is neither or out of range. Nothing is rounded. */
export function readU64(written: unknown): bigint | null {
  if (typeof written === 'number') {
    return Number.isSafeInteger(written) && written >= 0 ? BigInt(written) : null
  }
  if (typeof written === 'bigint') return written >= 0n && written <= U64_MAX ? written : null
  if (typeof written !== 'string' || !/^(?:0|[1-9]\d{0,19})$/.test(written)) return null
  const value = BigInt(written)
  return value <= U64_MAX ? value : null
}

/** The JSON form of a value. */
export function showU64(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString()
}
