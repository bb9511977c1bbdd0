import { expect, it } from 'vitest'
import { flowed, wrapped } from './wrapped.ts'

it('breaks lines at words, and goes on under their beginning', () => {
  expect(wrapped('one two three', 7)).toBe('one two\nthree')
  expect(wrapped('  1  one two three', 12)).toBe('  1  one two\n     three')
  expect(wrapped('unbreakable one', 5)).toBe('unbreakable\none')
})

it('puts sentences that the source broke on one line again, and keeps ends of sentences', () => {
  expect(flowed('One sentence\nin two lines.\nAnother.')).toBe(
    'One sentence in two lines.\nAnother.',
  )
})
