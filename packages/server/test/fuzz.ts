/** Requests that nobody should send, from a seed. */
export class Fuzz {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = mulberry32(seed)
  }

  below(max: number): number {
    return Math.floor(this.#next() * max)
  }

  chance(share: number): boolean {
    return this.#next() < share
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }

  bytes(max: number): Uint8Array {
    return Uint8Array.from({ length: this.below(max) }, () => this.below(256))
  }

  /** A value of any kind, mostly a nasty one. */
  value(depth = 0): unknown {
    if (depth < 3 && this.chance(0.2)) {
      return Array.from({ length: this.below(4) }, () => this.value(depth + 1))
    }
    if (depth < 3 && this.chance(0.25)) {
      return Object.fromEntries(
        Array.from({ length: this.below(4) }, () => [this.pick(KEYS), this.value(depth + 1)]),
      )
    }
    return this.pick(VALUES)
  }

  /** The same message with something changed in it, anywhere. */
  mutated(message: unknown): unknown {
    if (this.chance(0.15)) return this.value()
    if (Array.isArray(message)) {
      const copy: unknown[] = [...(message as unknown[])]
      if (copy.length === 0 || this.chance(0.2)) copy.push(this.value())
      else {
        const at = this.below(copy.length)
        copy[at] = this.mutated(copy[at])
      }
      return copy
    }
    if (typeof message !== 'object' || message === null) return this.value()
    const copy: Record<string, unknown> = { ...message }
    const keys = Object.keys(copy)
    const key = keys.length === 0 || this.chance(0.1) ? this.pick(KEYS) : this.pick(keys)
    if (this.chance(0.15)) delete copy[key]
    else if (this.chance(0.1)) copy[this.pick(KEYS)] = this.value()
    else copy[key] = this.mutated(copy[key])
    return copy
  }

  /** Bytes with some of them flipped, cut out or put in. */
  damaged(bytes: Uint8Array): Uint8Array {
    const copy = [...bytes]
    for (let i = 0; i <= this.below(4); i++) {
      const at = this.below(copy.length + 1)
      const way = this.below(10)
      if (way < 3) copy.splice(at, this.below(8))
      else if (way < 5) copy.splice(at, 0, ...this.bytes(8))
      else copy[at % Math.max(1, copy.length)] = this.below(256)
    }
    return Uint8Array.from(copy)
  }
}

const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'jsonrpc',
  'id',
  'method',
  'params',
  'task_id',
  'lease_id',
  'provider_id',
  'worker_id',
  'payload',
  'key',
  'requirements',
  'actuals',
  'kind',
  '',
  'x'.repeat(300),
  '\ud800',
  'ключ',
]

const VALUES = [
  null,
  true,
  false,
  0,
  -1,
  1,
  1.5,
  -0,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e308,
  '',
  'x',
  '0x',
  '0x0',
  `0x${'00'.repeat(32)}`,
  `0x${'FF'.repeat(32)}`,
  `0x${'ab'.repeat(70_000)}`,
  'x'.repeat(70_000),
  '\ud800',
  '\u0000',
  '18446744073709551615',
  '18446744073709551616',
  'provider:atlas',
  'provider:../../etc',
  '2.0',
  'aicf.enqueue',
  'aicf.getJob',
  'events.subscribe',
  "'; DROP TABLE jobs; --",
  [],
  {},
  [[[[[[]]]]]],
]

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
