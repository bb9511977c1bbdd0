import type { RowAt } from './batch-codec.ts'
import type { SqlValue, Statement } from './driver.ts'
import { idBytes, idKey } from './pending-job.ts'
import type { Statements } from './statements.ts'

/** Numbers remembered from one batch to the next; a few megabytes at most. */
const REMEMBERED_MAX = 20_000

/** The numbers under which rows name callers. A number once given is never given again. */
export class Callers {
  readonly #find: Statement
  readonly #findLast: Statement
  readonly #insert: Statement
  readonly #known = new Map<string, number>()

  constructor(statements: Statements) {
    this.#find = statements.get('find-caller')
    this.#findLast = statements.get('find-last-caller')
    this.#insert = statements.get('number-caller')
  }

  /** The number of a caller, given now if it has none. */
  numberOf(where: RowAt): number {
    const key = idKey(where)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const id = idBytes(where)
    const no = (this.#find.get(id)?.['no'] as number | undefined) ?? this.#give(id)
    this.#known.set(key, no)
    return no
  }

  /** To be called between batches: after one that failed nothing is known for sure. */
  forget({ didFail }: { readonly didFail: boolean }): void {
    if (didFail || this.#known.size > REMEMBERED_MAX) this.#known.clear()
  }

  #give(id: SqlValue): number {
    const no = ((this.#findLast.get()?.['no'] as number | undefined) ?? 0) + 1
    this.#insert.run(no, id)
    return no
  }
}
