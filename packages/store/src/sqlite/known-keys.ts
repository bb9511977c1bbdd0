import { KeyFilter, type KeyParts } from './key-filter.ts'

/** Who enqueued a job, and under which key. */
export interface JobKey {
  readonly caller: string
  readonly txHash: string
}

/** Some keys as `KeyParts`, three numbers each, and where the next page begins: null if there are no more. */
export interface KeyPage {
  readonly parts: Int32Array
  readonly last: number | null
}

/** Jobs in one page: some two milliseconds, in which nothing is written. */
const PAGE_JOBS = 1_000
/** With so many, keys are learned anew, and those of deleted jobs are forgotten. 63 MiB at most. */
const KEYS_MAX = 2 ** 23

/**
 * Keys that a store may have. Nearly every key that is looked up is new, and to ask the thread for it would
 * mean to wait behind the batch that is being written. What is committed is noted here before it is written,
 * and what was there before is learned page by page; until that is done every key is looked up.
 */
export class KnownKeys {
  readonly #read: (afterSeq: number, limit: number) => Promise<KeyPage>
  readonly #keysMax: number
  #known: KeyFilter | null = null
  #learning: KeyFilter | null = null

  constructor(
    read: (afterSeq: number, limit: number) => Promise<KeyPage>,
    { keysMax = KEYS_MAX }: { readonly keysMax?: number } = {},
  ) {
    this.#read = read
    this.#keysMax = keysMax
  }

  /** Is called with each key of a batch before the batch is handed over. */
  add(parts: KeyParts): void {
    this.#known?.add(parts)
    this.#learning?.add(parts)
    if (this.#known !== null && this.#known.size > this.#keysMax) void this.#learn()
  }

  mayHave(parts: KeyParts): boolean {
    return this.#known?.mayHave(parts) ?? true
  }

  /** Begins to learn what is there, unless that is known. Resolves when it is. */
  async begin(): Promise<void> {
    if (this.#known === null) await this.#learn()
  }

  async #learn(): Promise<void> {
    if (this.#learning !== null) return
    const learned = new KeyFilter()
    this.#learning = learned
    try {
      await this.#readAll(learned)
      // Of too many nothing is kept: each is looked up, as it was before they were known.
      this.#known = learned.size > this.#keysMax / 2 ? null : learned
    } catch {
      // A store that cannot be read says so to whoever needs it; what is known stays true.
    }
    this.#learning = null
  }

  async #readAll(learned: KeyFilter): Promise<void> {
    for (let after: number | null = 0; after !== null && learned.size <= this.#keysMax / 2; ) {
      const { parts, last }: KeyPage = await this.#read(after, PAGE_JOBS)
      for (let i = 0; i + 2 < parts.length; i += 3) {
        learned.add({
          caller: parts[i] as number,
          tx: parts[i + 1] as number,
          moreTx: parts[i + 2] as number,
        })
      }
      after = last
    }
  }
}

/** Of a hash that a job is found by; see `KeyHasher`. */
export function partsOfHash(hash: number): KeyParts {
  return { caller: 0, tx: hash, moreTx: Math.imul(hash, HASH_FACTOR) }
}

/** The golden ratio of 2^32: numbers that lie side by side are far from each other in its multiples. */
const HASH_FACTOR = 0x9e37_79b1 | 0

/** Of ids as the port has them: `0x` and 64 digits. */
export function partsOfText({ caller, txHash }: JobKey): KeyParts {
  return {
    caller: Number.parseInt(caller.slice(2, 10), 16) | 0,
    tx: Number.parseInt(txHash.slice(2, 10), 16) | 0,
    moreTx: Number.parseInt(txHash.slice(10, 18), 16) | 0,
  }
}

/** The same of their bytes, wherever these stand. */
export function partsAt(bytes: Uint8Array, caller: number, txHash: number): KeyParts {
  return {
    caller: wordAt(bytes, caller),
    tx: wordAt(bytes, txHash),
    moreTx: wordAt(bytes, txHash + 4),
  }
}

/** The same of many, one key behind the other. */
export function partsOf(
  keys: readonly (readonly [caller: Uint8Array, txHash: Uint8Array])[],
): Int32Array {
  const parts = new Int32Array(3 * keys.length)
  let at = 0
  for (const [caller, txHash] of keys) {
    parts[at++] = wordAt(caller, 0)
    parts[at++] = wordAt(txHash, 0)
    parts[at++] = wordAt(txHash, 4)
  }
  return parts
}

function wordAt(bytes: Uint8Array, at: number): number {
  const byte = (i: number): number => bytes[at + i] as number
  return (byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3)
}
