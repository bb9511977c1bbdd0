import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IndexedHeap } from './indexed-heap.ts'

interface Item {
  readonly id: number
  key: number
  heapIndex: number
}

describe('IndexedHeap', () => {
  it('FAIR-1: it equals a sorted list, while items come, go and change their key either way', () => {
    const act = fc.record({
      act: fc.constantFrom('add', 'add', 'move', 'remove', 'take'),
      nth: fc.nat({ max: 15 }),
      key: fc.integer({ min: 0, max: 6 }),
    })
    fc.assert(
      fc.property(fc.array(act, { maxLength: 120, size: 'max' }), (acts) => {
        const items = Array.from(
          { length: 16 },
          (_, id): Item => ({ id, key: id % 4, heapIndex: -1 }),
        )
        const heap = new IndexedHeap<Item>(
          (a, b) => a.key < b.key || (a.key === b.key && a.id < b.id),
        )
        const model = new Set<Item>()
        const smallest = () => [...model].sort((a, b) => a.key - b.key || a.id - b.id)[0]
        for (const { act, nth, key } of acts) {
          const item = act === 'take' ? smallest() : items[nth]
          if (item === undefined) continue
          const isInside = model.has(item)
          if (act !== 'add' || isInside) expect(heap.remove(item)).toBe(isInside)
          model.delete(item)
          if (act === 'add' || (act === 'move' && isInside)) {
            if (act === 'move') item.key = key
            heap.add(item)
            model.add(item)
          }
          expect(heap.size).toBe(model.size)
          expect(heap.top()?.id).toBe(smallest()?.id)
        }
        while (model.size > 0) {
          const top = heap.top() as Item
          expect(top.id).toBe(smallest()?.id)
          expect(heap.remove(top)).toBe(true)
          model.delete(top)
        }
        expect(heap.top()).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })
})
