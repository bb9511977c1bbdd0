import { expect, it } from 'vitest'
import { MarketLimits } from './market-limits.ts'

const START = 1_760_000_000_000
const ROLLING = { key: 'calls', kind: 'rolling', capacity: 3, windowSecs: 2, overage: 'debt' }

it('ENGINE-1: what is stored of a limit does not tell whether anybody has looked at it', () => {
  const changesOf = (look: (limits: MarketLimits) => unknown) => {
    const limits = new MarketLimits(16)
    limits.define(ROLLING, START)
    limits.reserve('one', [{ key: 'calls', amount: 2 }], START)
    look(limits)
    return limits.takeChanges()
  }
  const unseen = changesOf(() => null)
  expect(unseen.limits).toMatchObject([['calls', { holds: [[START + 2_032, 2]] }]])
  expect(changesOf((limits) => limits.get('calls', START + 5_000))).toEqual(unseen)
  expect(changesOf((limits) => limits.list(START + 3_000))).toEqual(unseen)
})
