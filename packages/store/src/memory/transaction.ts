/**
 * Writes that can be taken back. Each notes what it replaced, so that a refused batch costs what it
 * wrote, and a good one no copy of the whole state.
 */
export class Transaction {
  readonly #undo: (() => void)[] = []

  set<Key, Value>(table: Map<Key, Value>, key: Key, value: Value): void {
    const before = table.get(key)
    this.#undo.push(() => {
      if (before === undefined) table.delete(key)
      else table.set(key, before)
    })
    table.set(key, value)
  }

  delete<Key, Value>(table: Map<Key, Value>, key: Key): void {
    const before = table.get(key)
    if (before === undefined) return
    this.#undo.push(() => {
      table.set(key, before)
    })
    table.delete(key)
  }

  append<Item>(list: Item[], item: Item): void {
    this.#undo.push(() => {
      list.pop()
    })
    list.push(item)
  }

  /** Takes the first of a list away. */
  cut<Item>(list: Item[], count: number): void {
    const taken = list.splice(0, count)
    this.#undo.push(() => {
      list.unshift(...taken)
    })
  }

  /** Newest first, so that each write finds what it left behind. */
  rollBack(): void {
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) undo()
  }
}
