import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkData, checkReturned } from './plain-data.ts'

class Money {
  cents = 5
}
const cycle: { parts: unknown[] } = { parts: [] }
cycle.parts.push({ whole: cycle })

it.each<[data: unknown, message: RegExp]>([
  [{ when: new Date(0) }, /^data\.when: expected .*toISOString.*, got a Date$/],
  [
    { a: [1, { 'b c': new Map() }] },
    /^data\.a\[1\]\["b c"\]: expected .*fromEntries.*, got a Map$/,
  ],
  [{ a: new Set() }, /^data\.a: .*got a Set$/],
  [{ a: Buffer.from('x') }, /^data\.a: .*base64.*got a Buffer$/],
  [{ a: Promise.resolve(1) }, /^data\.a: .*await it, got a Promise$/],
  [{ a: new URL('http://a') }, /^data\.a: .*url\.href, got a URL$/],
  [{ a: new Money() }, /^data\.a: expected a plain object.*got a Money$/],
  [{ a: undefined }, /^data\.a: .*got undefined$/],
  // A hole.
  [{ a: new Array(1) }, /^data\.a\[0\]: .*got undefined$/],
  [{ a: Number.NaN }, /^data\.a: expected a finite number, or null, got NaN$/],
  [{ a: 2 ** 53 }, /^data\.a: expected a whole number within/],
  [{ a: 1n }, /^data\.a: .*got a bigint$/],
  [{ a: '\ud800' }, /^data\.a: .*half a surrogate pair$/],
  [{ a: () => 1 }, /^data\.a: .*got a function$/],
  [{ [Symbol('x')]: 1 }, /^data: expected text as keys, got the key Symbol\(x\)$/],
  [cycle, /^data\.parts\[0\]\.whole: expected no cycle/],
  [[1], /^data: expected an object, got an array/],
  [null, /^data: expected an object, got null/],
  ['text', /^data: expected an object, got a string/],
])('QUEUE-4: %o is refused with its place', (data, message) => {
  expect(() => checkData(data)).toThrow(message)
})

it('QUEUE-4: what is taken comes back from JSON as it was', () => {
  const any = fc.object({
    withDate: true,
    withMap: true,
    withBigInt: true,
    withNullPrototype: true,
  })
  fc.assert(
    fc.property(any, (data) => {
      try {
        checkData(data)
      } catch {
        return
      }
      // JSON has one zero.
      const plain = (value: unknown): unknown =>
        JSON.stringify(value, (_key, item: unknown) => (Object.is(item, -0) ? 0 : item))
      const back: unknown = JSON.parse(JSON.stringify(data))
      expect(plain(back)).toBe(plain(data))
      expect({ ...(back as object) }).toEqual(JSON.parse(plain(data) as string))
    }),
  )
})

it('QUEUE-4: objects of another realm and without a prototype are plain', () => {
  checkData(runInNewContext('({ a: [{ b: 1 }] })'))
  checkData(Object.assign(Object.create(null), { a: 1 }))
})

it('QUEUE-6: a result may lack fields and have any number, and is refused by the same rules else', () => {
  checkReturned({ a: undefined, n: 1e300, text: '\ud800' })
  expect(() => checkReturned({ a: [undefined] })).toThrow(/^result\.a\[0\]: /)
  expect(() => checkReturned({ at: new Date(0) })).toThrow(/^result\.at: /)
})
