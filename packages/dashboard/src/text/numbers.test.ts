import { describe, expect, it } from 'vitest'
import { bytesText, countText, plural, ppmText, rateText, shareOf } from './numbers.ts'

describe('numbers', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1_234_567, '1,234,567'],
    [-1_234, '-1,234'],
    ['18446744073709551615', '18,446,744,073,709,551,615'],
    ['-9007199254740993', '-9,007,199,254,740,993'],
    [2n ** 64n, '18,446,744,073,709,551,616'],
  ])('%s is grouped, and every digit of it is right', (value, text) => {
    expect(countText(value)).toBe(text)
  })

  it.each([
    [0, '0'],
    [0.5, '0.5'],
    [0.25, '0.25'],
    [12.34, '12.3'],
    [1_234.5, '1,235'],
  ])('a rate of %s is %s', (value, text) => {
    expect(rateText(value)).toBe(text)
  })

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.00 kB'],
    [999_499, '999 kB'],
    [999_500, '1.00 MB'],
    [33_554_432, '33.6 MB'],
    [-2_000_000, '−2.00 MB'],
    [5e18, '5000 PB'],
  ])('%s bytes are %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text)
  })

  it.each([
    [0, '0 %'],
    [12_345, '1.2 %'],
    [1_000_000, '100 %'],
  ])('%s parts of a million are %s', (ppm, text) => {
    expect(ppmText(ppm)).toBe(text)
  })

  it('one job, two jobs, no jobs', () => {
    expect([plural(1, 'job'), plural(2, 'job'), plural(0, 'job')]).toEqual([
      '1 job',
      '2 jobs',
      '0 jobs',
    ])
    expect(plural(2, 'entry', 'entries')).toBe('2 entries')
  })

  it('a share lies between nothing and the whole, also where nothing can be had', () => {
    expect([shareOf(1, 4), shareOf(5, 4), shareOf(-1, 4), shareOf(1, 0)]).toEqual([0.25, 1, 0, 0])
    expect(shareOf('9007199254740993', '18014398509481986')).toBe(0.5)
  })
})
