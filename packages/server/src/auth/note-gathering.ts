import type { OutsideNote } from '@fairlead/engine'
import type { Logger } from '../log.ts'
import { TokenBuckets } from './token-bucket.ts'

/** Notes of one kind are gathered for this long. */
const GATHER_MS = 10_000
/** Kinds that are gathered at a time; what is beyond them is counted under one. */
const KINDS_MAX = 100

/** Notes that differ in nothing but how many there are. */
export interface NoteKind {
  readonly key: string
  readonly note: (count: number) => OutsideNote
}

/**
 * Notes on their way to the audit log. The first of a kind is written at once, more of it as a count every ten
 * seconds, and all kinds together at a bounded rate: nobody must be able to fill the disk with them.
 */
export class NoteGathering {
  readonly #write: (note: OutsideNote) => Promise<void>
  readonly #logger: Logger
  /** For those beyond the kinds, and beyond the rate. */
  readonly #rest: NoteKind
  readonly #rate = new TokenBuckets({ perSecond: 1, burst: 20 })
  readonly #gathered = new Map<string, { kind: NoteKind; count: number }>()
  #timer: NodeJS.Timeout | null = null

  constructor(write: (note: OutsideNote) => Promise<void>, logger: Logger, rest: NoteKind) {
    this.#write = write
    this.#logger = logger
    this.#rest = rest
  }

  /** Whether it is the first of its kind. */
  add(wanted: NoteKind): boolean {
    const isRoom = this.#gathered.size < KINDS_MAX || this.#gathered.has(wanted.key)
    const kind = isRoom ? wanted : this.#rest
    const known = this.#gathered.get(kind.key)
    if (known !== undefined) {
      known.count++
      return false
    }
    // What was noted stays here, with none to add, so that the next of its kind is gathered.
    const isNoted = this.#rate.take('all', 1, performance.now()) === 0
    this.#gathered.set(kind.key, { kind, count: isNoted ? 0 : 1 })
    if (isNoted) void this.#put(kind, 1)
    this.#timer ??= setTimeout(() => void this.#flush(), GATHER_MS).unref()
    return true
  }

  /** Writes what was gathered. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#flush()
  }

  async #flush(): Promise<void> {
    this.#timer = null
    const waiting = [...this.#gathered.values()].filter(({ count }) => count > 0)
    this.#gathered.clear()
    let rest = 0
    for (const { kind, count } of waiting) {
      if (this.#rate.take('all', 1, performance.now()) > 0) rest += count
      else await this.#put(kind, count)
    }
    if (rest > 0) await this.#put(this.#rest, rest)
  }

  async #put({ note }: NoteKind, count: number): Promise<void> {
    try {
      await this.#write(note(count))
    } catch (err) {
      this.#logger.error({ err }, 'a note could not be written to the audit log')
    }
  }
}
