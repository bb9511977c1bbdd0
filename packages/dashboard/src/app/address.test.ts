import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hrefOf, parseRoute } from './address.ts'

it('an address leads to where it was made for', () => {
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z]{1,10}$/),
      fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
      fc.string({ minLength: 1 }),
      (screen, rest, filter) => {
        const route = parseRoute(hrefOf(screen, rest, { filter, other: null, empty: '' }))
        expect(route.screen).toBe(screen)
        expect(route.rest).toEqual(rest)
        expect([...route.query]).toEqual([['filter', filter.toWellFormed()]])
      },
    ),
  )
})

it('an address that was mangled leads somewhere, too', () => {
  expect(parseRoute('')).toMatchObject({ screen: '', rest: [] })
  expect(parseRoute('#/jobs/%E0%A4%A')).toMatchObject({ screen: 'jobs', rest: ['%E0%A4%A'] })
})
