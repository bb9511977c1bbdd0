import type { OutsideNote } from '@fairlead/engine'
import type { Logger } from '../log.ts'
import type { Call } from '../rpc/call.ts'
import { TokenBuckets } from './token-bucket.ts'

/** Attempts of one kind are gathered for this long. */
const GATHER_MS = 10_000
/** Kinds that are gathered at a time; what is beyond them is counted under one. */
const KINDS_MAX = 100

type Refusal = Extract<OutsideNote, { type: 'accessRefused' }>

/**
 * Refused attempts on their way to the audit log (AUTH-5). The first of a kind is noted at once, more of
 * it as a count every ten seconds, and all kinds together at a bounded rate: whoever attacks must not be
 * able to fill the disk with it.
 */
export class AccessNotes {
  readonly #write: (refusal: Refusal) => Promise<void>
  readonly #logger: Logger
  readonly #rate = new TokenBuckets({ perSecond: 1, burst: 20 })
  readonly #gathered = new Map<string, { refusal: Refusal; attempts: number }>()
  #timer: NodeJS.Timeout | null = null

  constructor(write: (refusal: Refusal) => Promise<void>, logger: Logger) {
    this.#write = write
    this.#logger = logger
  }

  /** A token that is none, or none at all. */
  unauthorized(from: string, reason: string): void {
    this.#add({ type: 'accessRefused', by: from, subject: 'authentication', reason, attempts: 1 })
  }

  /** A token that may not do this, or not with what belongs to somebody else. */
  forbidden({ identity }: Call, method: string): void {
    this.#add({
      type: 'accessRefused',
      by: `token:${identity.tokenId}`,
      subject: method,
      reason: 'forbidden',
      attempts: 1,
    })
  }

  /** Writes what was gathered. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#flush()
  }

  #add(attempt: Refusal): void {
    const isRoom = this.#gathered.size < KINDS_MAX
    const refusal = isRoom ? attempt : { ...attempt, by: 'others' }
    const key = `${refusal.by} ${refusal.subject} ${refusal.reason}`
    const known = this.#gathered.get(key)
    if (known !== undefined) {
      known.attempts++
      return
    }
    const { type: _, ...told } = refusal
    this.#logger.warn(told, 'access refused')
    // What was noted stays here, with none to add, so that the next of its kind is gathered.
    const isNoted = this.#rate.take('all', 1, performance.now()) === 0
    this.#gathered.set(key, { refusal, attempts: isNoted ? 0 : 1 })
    if (isNoted) void this.#put(refusal)
    this.#timer ??= setTimeout(() => void this.#flush(), GATHER_MS).unref()
  }

  async #flush(): Promise<void> {
    this.#timer = null
    const waiting = [...this.#gathered.values()].filter(({ attempts }) => attempts > 0)
    this.#gathered.clear()
    let rest = 0
    for (const { refusal, attempts } of waiting) {
      if (this.#rate.take('all', 1, performance.now()) > 0) rest += attempts
      else await this.#put({ ...refusal, attempts })
    }
    if (rest > 0)
      await this.#put({
        type: 'accessRefused',
        by: 'others',
        subject: 'several',
        reason: 'several',
        attempts: rest,
      })
  }

  async #put(refusal: Refusal): Promise<void> {
    try {
      await this.#write(refusal)
    } catch (err) {
      this.#logger.error({ err }, 'a refused attempt could not be written to the audit log')
    }
  }
}
