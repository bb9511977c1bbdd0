import { expect, it } from 'vitest'
import { fairlead } from './cli-process.ts'

it('fairlead demo: every job comes to its right end, and so does everybody in the line of its opening', async () => {
  const { code, out } = await fairlead(['demo', '--exit', '--json', '--jobs', '3'])
  expect(code).toBe(0)
  const { ends, wrong, opening } = JSON.parse(out) as {
    ends: Record<string, number>
    wrong: string[]
    opening: { people: number; seats: number; by_place: { tried: number; booked: number }[] }
  }
  expect(wrong).toEqual([])
  expect(ends['COMPLETED']).toBe(9)
  const sum = (count: 'tried' | 'booked') =>
    opening.by_place.reduce((total, places) => total + places[count], 0)
  expect(sum('tried')).toBe(200)
  expect(sum('booked')).toBe(30)
  // Who came first was tried first: the front of the line has seats, its end has none.
  expect(opening.by_place[0]).toMatchObject({ tried: 10, booked: 10 })
  expect(opening.by_place.at(-1)).toMatchObject({ tried: 100, booked: 0 })
}, 120_000)
