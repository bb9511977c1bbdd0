import { NumberHeap } from './number-heap.ts'

/** The least that a queue by score takes: scores in a heap of numbers, ids in a `Map`. */
export class HeapAndMap {
  readonly #heap: NumberHeap
  readonly #byId = new Map<string, number>()

  constructor(capacity: number) {
    this.#heap = new NumberHeap(capacity)
  }

  push(id: string, score: number): void {
    this.#heap.push(score)
    this.#byId.set(id, score)
  }

  /** The lowest score. A heap of numbers knows no ids, so the caller names one to forget. */
  pop(id: string): number {
    if (!this.#byId.delete(id)) throw new Error(`the yardstick has no ${id}`)
    return this.#heap.pop()
  }
}
