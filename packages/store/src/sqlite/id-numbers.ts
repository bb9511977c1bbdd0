import { Bulk } from './bulk.ts'
import { bytesOf } from './cells.ts'
import type { Statement } from './driver.ts'
import { numberOf } from './rows.ts'
import type { Statements } from './statements.ts'

/** Numbers remembered from one batch to the next; a few megabytes at most. */
const REMEMBERED_MAX = 20_000

/**
 * The numbers under which rows name ids. A number once given is never given again or taken back, so
 * what is remembered of a committed batch stays true.
 */
export class IdNumbers {
  readonly #find: Statement
  readonly #findLast: Statement
  readonly #insert: Bulk
  readonly #known = new Map<string, number>()
  #last: number | null = null

  constructor(statements: Statements) {
    this.#find = statements.get('find-number')
    this.#findLast = statements.get('find-last-number')
    this.#insert = new Bulk(statements, { one: 'number-id', many: 'number-ids-20' })
  }

  /** The number of an id, given now if it has none. */
  of(id: string): number {
    const no = this.find(id)
    if (no !== null) return no
    this.giveTo([id])
    return this.of(id)
  }

  /** The number of an id, or null if nothing names it. */
  find(id: string): number | null {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const no = numberOf(this.#find.get(bytesOf(id)))
    if (no !== null) this.#known.set(id, no)
    return no
  }

  /** Gives numbers to ids that most likely have none: looking for each would cost as much again. */
  giveTo(ids: readonly string[]): void {
    const first = (this.#last ?? numberOf(this.#findLast.get()) ?? 0) + 1
    this.#last = first + ids.length - 1
    const given = this.#insert.write(ids.map((id, i) => [first + i, bytesOf(id)]))
    // If one of them had a number before, nobody knows here which; they are looked for when needed.
    if (given === ids.length) for (const [i, id] of ids.entries()) this.#known.set(id, first + i)
  }

  /** To be called between batches: after one that failed nothing is known for sure. */
  forget({ didFail }: { readonly didFail: boolean }): void {
    if (didFail) this.#last = null
    if (didFail || this.#known.size > REMEMBERED_MAX) this.#known.clear()
  }
}
