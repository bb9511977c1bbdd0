import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyMarket, CALLERS, realMarket } from '../../test/any-market.ts'
import type { PlainMarket } from '../../test/plain-round.ts'
import type { Caller } from '../encoding/ids.ts'
import { matchRound } from '../match/match-round.ts'
import { PAUSES_MAX, type PauseKey, Pauses } from './pauses.ts'

const [ANN, BOB] = CALLERS as [Caller, Caller]

const anyKey: fc.Arbitrary<PauseKey> = fc.record({
  kind: fc.constantFrom('ai', 'quantum', 'task'),
  name: fc.constantFrom(null, null, 'm1', 'm2'),
  caller: fc.constantFrom(null, null, ...CALLERS),
})

/** By the letter: each field of a pause is the job's, or left open. */
function isHeld(
  { kind, model, caller }: { kind: string; model: string | null; caller: string },
  keys: readonly PauseKey[],
): boolean {
  return keys.some(
    (key) =>
      key.kind === kind &&
      (key.name === null || key.name === model) &&
      (key.caller === null || key.caller === caller),
  )
}

function assignedIn(market: PlainMarket, pauses: Pauses) {
  const { now, seed, policy } = market
  const rounds = matchRound({ ...realMarket(market), nowMs: now, seed, policy, pauses })
  return rounds.flatMap(({ assignments }) =>
    assignments.map(({ job, provider }) => [job.id, provider.id]),
  )
}

function pausesOf(keys: readonly PauseKey[]): Pauses {
  const pauses = new Pauses()
  for (const key of keys) pauses.add(key, 0)
  return pauses
}

describe('pauses', () => {
  it('PAUSE-1: a round gives what it would give if the paused jobs were not there', () => {
    fc.assert(
      fc.property(anyMarket(), fc.array(anyKey, { maxLength: 3 }), (market, keys) => {
        const jobs = market.jobs.filter((job) => !isHeld(job, keys))
        expect(assignedIn(market, pausesOf(keys))).toEqual(
          assignedIn({ ...market, jobs }, new Pauses()),
        )
      }),
      { numRuns: 600 },
    )
  })

  it('PAUSE-1: names the widest pause that holds a job', () => {
    const pauses = pausesOf([
      { kind: 'ai', name: 'm1', caller: ANN },
      { kind: 'ai', name: null, caller: ANN },
    ])
    const held = (model: string, caller: Caller) => pauses.holding({ kind: 'ai', model, caller })
    expect(held('m1', ANN)).toMatchObject({ name: null, caller: ANN })
    expect(held('m1', BOB)).toBeNull()
    pauses.remove({ kind: 'ai', name: null, caller: ANN })
    expect(held('m1', ANN)).toMatchObject({ name: 'm1', caller: ANN })
    expect(held('m2', ANN)).toBeNull()
    expect(pauses.holding({ kind: 'task', model: 'm1', caller: ANN })).toBeNull()
  })

  it('PAUSE-1: there are at most 1,000, and one that is there already takes no room', () => {
    const pauses = new Pauses()
    for (let i = 0; i < PAUSES_MAX; i++) {
      pauses.add({ kind: 'task', name: `t${i}`, caller: null }, i)
    }
    const known = pauses.add({ kind: 'task', name: 't7', caller: null }, 99)
    expect(known).toMatchObject({ isNew: false, pause: { since: 7 } })
    expect(() => pauses.add({ kind: 'ai', name: null, caller: null }, 0)).toThrow(
      /1000 pauses are in force; resume one/,
    )
  })
})
