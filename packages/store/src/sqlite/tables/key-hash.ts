import { createHash } from 'node:crypto'

/** 2^31 − 1, a prime. */
const PRIME = 2_147_483_647
const PARTS = 32

/**
 * Hashes a caller and a tx_hash to 31 bits, by which a job is looked up. A caller may choose thousands of `tx_hash` that
 * begin alike. The factors depend on the store, so such a choice does not make look-ups slow. SHA-256 takes thirty
 * times as long.
 */
export class KeyHash {
  readonly #factors: readonly number[]

  constructor(storeId: Uint8Array) {
    this.#factors = Array.from({ length: PARTS }, (_, i) => {
      const random = createHash('sha256').update(storeId).update(String(i)).digest()
      return random.readUInt32LE() % PRIME
    })
  }

  of(caller: Uint8Array, txHash: Uint8Array): number {
    // Each product is below 2^47 and there are 32 of them, so the sum is exact.
    let sum = 0
    for (let i = 0; i < PARTS / 2; i++) {
      sum += (this.#factors[i] as number) * partOf(caller, i)
      sum += (this.#factors[PARTS / 2 + i] as number) * partOf(txHash, i)
    }
    return sum % PRIME
  }
}

function partOf(bytes: Uint8Array, i: number): number {
  return (bytes[2 * i] as number) * 256 + (bytes[2 * i + 1] as number)
}

/** The first 48 bits of an id, by which jobs and leases are looked up. They are random, so few ids share them. */
export function id48(id: Uint8Array): number {
  const byte = (i: number): number => id[i] as number
  const high = (byte(0) << 16) | (byte(1) << 8) | byte(2)
  return high * 2 ** 24 + ((byte(3) << 16) | (byte(4) << 8) | byte(5))
}
