import { compareText, SeededDice, SeededShuffle } from '@fairlead/core/internal'
import { suite } from '../suite.ts'

/** §7 step 2: the seeded shuffle and its draws. */
export const shuffle = suite(({ seed, ids, draws }) => {
  if (draws !== undefined) {
    const dice = new SeededDice(seed)
    return { values: draws.map((m: number) => dice.draw(m)) }
  }
  return { order: new SeededShuffle([...ids].sort(compareText), seed).all() }
})
