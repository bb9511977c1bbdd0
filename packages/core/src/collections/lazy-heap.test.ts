import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type HeapItem, LazyHeap } from './lazy-heap.ts'

interface Item extends HeapItem {
  readonly id: number
  key: number
}

type Act =
  | { readonly act: 'enter'; readonly nth: number }
  | { readonly act: 'leave'; readonly nth: number }
  | { readonly act: 'grow'; readonly nth: number; readonly by: number }
  | { readonly act: 'rekey'; readonly keys: readonly number[] }
  | { readonly act: 'pop' }
  | { readonly act: 'rebuild' }

const ITEMS = 12
/** A key that is about in the middle of those of the items. */
const BOUND = 2

describe('LazyHeap', () => {
  it('ORDER-4: it equals a sorted list, while items leave, come back and grow', () => {
    fc.assert(
      fc.property(fc.array(anyAct(), { maxLength: 120, size: 'max' }), (acts) => {
        const items = someItems(ITEMS)
        const model = new Set<Item>()
        const heap = heapAt(0)
        for (const act of acts) {
          apply(act, heap, model, items)
          expect({
            size: heap.size,
            top: heap.top()?.id,
            topKey: heap.topKey(),
            inside: [...heap].map(({ id }) => id).toSorted(),
            has: items.filter((item) => heap.has(item)).length,
            upTo: [...heap.upTo(BOUND)].map(({ id }) => id).toSorted(),
          }).toEqual({
            size: model.size,
            top: first(model)?.id,
            topKey: first(model)?.key ?? Number.POSITIVE_INFINITY,
            inside: [...model].map(({ id }) => id).toSorted(),
            has: model.size,
            upTo: [...model].flatMap(({ id, key }) => (key <= BOUND ? id : [])).toSorted(),
          })
        }
        expect(drained(heap)).toEqual(sorted(model).map(({ id }) => id))
      }),
      { numRuns: 500 },
    )
  })

  it('ORDER-4: two heaps over the same items do not know of each other', () => {
    const act = fc.tuple(fc.boolean(), anyAct())
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80, size: 'max' }), (acts) => {
        const items = someItems(ITEMS)
        const pair = [
          { heap: heapAt(3), model: new Set<Item>() },
          { heap: heapAt(14), model: new Set<Item>() },
        ] as const
        for (const [which, act] of acts) {
          const { heap, model } = pair[which ? 1 : 0]
          apply(act, heap, model, items)
          // A key that fell is news to the other heap as well.
          if (act.act === 'rekey') for (const other of pair) other.heap.rebuild()
        }
        for (const { heap, model } of pair) {
          expect(heap.size).toBe(model.size)
          expect(drained(heap)).toEqual(sorted(model).map(({ id }) => id))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('ORDER-4: many that leave and come back are swept without losing any', () => {
    const items = someItems(5_000).map((item) => ({ ...item, key: (item.id * 7_919) % 997 }))
    const heap = heapAt(2)
    for (const item of items) heap.enter(item)
    for (const item of items) if (item.id % 8 !== 0) heap.leave(item)
    for (const item of items) if (item.id % 16 === 1) heap.enter(item)
    const left = items.filter((item) => item.id % 8 === 0 || item.id % 16 === 1)
    expect(heap.size).toBe(left.length)
    expect(drained(heap)).toEqual(sorted(new Set(left)).map(({ id }) => id))
  })

  it('ORDER-4: an empty heap has no top', () => {
    const heap = heapAt(1)
    const [item] = someItems(1) as [Item]
    expect([heap.size, heap.top(), heap.pop(), heap.topKey()]).toEqual([
      0,
      undefined,
      undefined,
      Number.POSITIVE_INFINITY,
    ])
    heap.leave(item)
    heap.rebuild()
    expect(heap.has(item)).toBe(false)
    heap.enter(item)
    heap.enter(item)
    expect(heap.size).toBe(1)
    expect([heap.pop(), heap.pop()]).toEqual([item, undefined])
  })
})

function apply(act: Act, heap: LazyHeap<Item>, model: Set<Item>, items: readonly Item[]): void {
  if (act.act === 'pop') {
    const want = first(model)
    expect(heap.pop()?.id).toBe(want?.id)
    if (want) model.delete(want)
  } else if (act.act === 'rebuild') heap.rebuild()
  else if (act.act === 'rekey') {
    for (const [n, item] of items.entries()) item.key = act.keys[n] ?? item.key
    heap.rebuild()
  } else {
    const item = items[act.nth] as Item
    if (act.act === 'enter') {
      heap.enter(item)
      model.add(item)
    } else if (act.act === 'leave') {
      heap.leave(item)
      model.delete(item)
    } else item.key += act.by
  }
}

function anyAct(): fc.Arbitrary<Act> {
  const nth = fc.nat({ max: ITEMS - 1 })
  const key = fc.integer({ min: -3, max: 5 })
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ act: fc.constantFrom('enter', 'enter', 'leave'), nth }) },
    {
      weight: 3,
      arbitrary: fc.record({ act: fc.constant('grow'), nth, by: fc.nat({ max: 4 }) }),
    },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('pop') }) },
    {
      weight: 1,
      arbitrary: fc.oneof(
        fc.record({ act: fc.constant('rebuild') }),
        fc.record({
          act: fc.constant('rekey'),
          keys: fc.array(key, { minLength: ITEMS, maxLength: ITEMS }),
        }),
      ),
    },
  ) as fc.Arbitrary<Act>
}

function heapAt(place: number): LazyHeap<Item> {
  return new LazyHeap<Item>({
    bitPair: place,
    keyOf: ({ key }) => key,
    before: (a, b) => a.id < b.id,
  })
}

function someItems(count: number): Item[] {
  return Array.from({ length: count }, (_, id) => ({ id, key: (id * 5) % 4, heapBits: 0 }))
}

function sorted(model: ReadonlySet<Item>): Item[] {
  return [...model].sort((a, b) => a.key - b.key || a.id - b.id)
}

function first(model: ReadonlySet<Item>): Item | undefined {
  return sorted(model)[0]
}

function drained(heap: LazyHeap<Item>): number[] {
  const ids: number[] = []
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) ids.push(item.id)
  return ids
}
