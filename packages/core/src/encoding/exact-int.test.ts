import { test } from '@fast-check/vitest'
import fc from 'fast-check'
import { expect } from 'vitest'
import { ceilDiv, exactInt, floorDiv, least, minus, plus, times } from './exact-int.ts'

const LARGEST = 2n ** 70n
const any = fc.bigInt({ min: -LARGEST, max: LARGEST })
const anyPositive = fc.bigInt({ min: 1n, max: LARGEST })

test.prop([any, any])('VALUE-6: sums, differences and products of any size are exact', (a, b) => {
  const [x, y] = [exactInt(a), exactInt(b)]
  expect(plus(x, y)).toBe(exactInt(a + b))
  expect(minus(x, y)).toBe(exactInt(a - b))
  expect(times(x, y)).toBe(exactInt(a * b))
  expect(least(x, y)).toBe(exactInt(a < b ? a : b))
})

test('VALUE-6: zero has one form, whatever it is a product of', () => {
  expect(times(-1, 0)).toBe(0)
  expect(times(0, -1)).toBe(0)
  expect(minus(0, 0)).toBe(0)
})

test.prop([anyPositive, anyPositive])('VALUE-6: quotients are rounded down or up', (a, b) => {
  expect(floorDiv(exactInt(a), exactInt(b))).toBe(exactInt(a / b))
  expect(ceilDiv(exactInt(a), exactInt(b))).toBe(exactInt((a + b - 1n) / b))
})
