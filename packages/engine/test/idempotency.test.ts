import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Seed, type Store, taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { HeldCommit } from './held-store.ts'
import { type Call, outcomesOf, Rig } from './rig.ts'

const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['in memory', async () => new MemoryStore()],
  [
    'on SQLite',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'fairlead-keys-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      return openSqliteStore(join(folder, 'fairlead.db'))
    },
  ],
]

describe.each(STORES)('one key, %s', (_, openStore) => {
  let rig: Rig

  beforeEach(async () => {
    rig = await Rig.open(await openStore())
    rig.store.isHolding = true
  })
  afterEach(() => rig.close())

  /** Some time later: a job that is taken in anew would have another id. */
  async function firstWrite(): Promise<HeldCommit> {
    const write = await rig.store.underWay()
    await rig.clock.advance(2_000)
    return write
  }

  async function expectOne(calls: readonly Call<unknown>[]): Promise<void> {
    const taken = calls.filter(({ outcome }) => outcome === 'ok').map(({ value }) => value)
    expect(new Set(taken).size).toBe(1)
    expect(await rig.jobs()).toEqual([taken[0]])
  }

  it('ENQUEUE-13: asked for again while the first is being written is the same job', async () => {
    const first = rig.enqueue('k')
    const write = await firstWrite()
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const again = [rig.enqueue('k'), rig.enqueue('k')]
    await lookUp.asked
    lookUp.release()
    await rig.clock.settle()
    const other = rig.enqueue('k', { n: 2 })
    await rig.clock.settle()
    expect([first, ...again, other].map(({ outcome }) => outcome)).toEqual(Array(4).fill('pending'))
    await write.confirm()
    rig.store.isHolding = false
    await rig.store.letGo()
    expect(await outcomesOf([first, ...again])).toEqual(['ok', 'ok', 'ok'])
    expect(await other.done).toBe('IdempotencyConflict')
    await expectOne([first, ...again])
  })

  it('ENQUEUE-13: asked for again right after the first was confirmed is the same job', async () => {
    const first = rig.enqueue('k')
    const write = await firstWrite()
    rig.store.isHolding = false
    const calls = [first]
    const again = first.done.then(() => calls.push(rig.enqueue('k')))
    await write.confirm()
    calls.push(rig.enqueue('k'))
    await again
    calls.push(rig.enqueue('k'))
    expect(await outcomesOf(calls)).toEqual(Array(4).fill('ok'))
    await expectOne(calls)
  })

  it('ENQUEUE-13: looked up before the first was stored and applied after, is the same job', async () => {
    const first = rig.enqueue('k')
    const write = await firstWrite()
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const again = rig.enqueue('k')
    // The store has said that there is none.
    await lookUp.asked
    await write.confirm()
    expect(await first.done).toBe('ok')
    rig.store.isHolding = false
    lookUp.release()
    expect(await again.done).toBe('ok')
    await expectOne([first, again])
  })

  it('ENQUEUE-13: asked for again after its write failed is one job', async () => {
    const calls = [rig.enqueue('k')]
    const write = await firstWrite()
    const lookUp = rig.store.holdAnswer('jobsByTx')
    calls.push(rig.enqueue('k'))
    await lookUp.asked
    lookUp.release()
    await rig.clock.settle()
    write.fail()
    expect(await outcomesOf(calls)).toEqual(['StoreUnavailable', 'StoreUnavailable'])
    rig.store.isHolding = false
    const again = [rig.enqueue('k'), rig.enqueue('k')]
    expect(await outcomesOf(again)).toEqual(['ok', 'ok'])
    await expectOne(again)
  })

  it('ENGINE-2: asked for again after its answer was lost is the job that was stored', async () => {
    const first = rig.enqueue('k')
    const write = await firstWrite()
    await write.store()
    const [stored] = await rig.jobs()
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const meanwhile = rig.enqueue('k')
    await lookUp.asked
    write.fail()
    expect(await first.done).toBe('StoreUnavailable')
    rig.store.isHolding = false
    lookUp.release()
    const again = rig.enqueue('k')
    expect(await outcomesOf([meanwhile, again])).toEqual(['ok', 'ok'])
    expect([meanwhile.value, again.value]).toEqual([stored, stored])
    await expectOne([meanwhile, again])
  })

  it('ENGINE-2: looked up before the write whose answer was lost, is the job that was stored', async () => {
    const first = rig.enqueue('k')
    const write = await firstWrite()
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const again = rig.enqueue('k')
    await lookUp.asked
    await write.store()
    write.fail()
    expect(await first.done).toBe('StoreUnavailable')
    rig.store.isHolding = false
    lookUp.release()
    expect(await again.done).toBe('ok')
    await expectOne([again])
  })
})

/** Callers who ask for a few keys again and again, over a store that does as it likes. */
async function play(seed: number): Promise<{ readonly rig: Rig; readonly taken: Taken }> {
  const dice = new SeededDice(taggedHashHex('fairlead|keys', seed) as Seed)
  const rig = await Rig.open()
  const taken: Taken = new Map()
  const note = (key: string, call: Call<unknown>) =>
    call.done.then(() => {
      if (call.outcome === 'ok') taken.set(key, (taken.get(key) ?? new Set()).add(call.value))
    })
  rig.store.isHolding = true
  const asked: Promise<unknown>[] = []
  for (let i = 0; i < 60; i++) {
    // At times more than a batch takes before it is handed over.
    const count = dice.draw(6) === 0 ? 80 : 1 + dice.draw(4)
    for (let n = 0; n < count; n++) {
      const key = `k-${dice.draw(40)}`
      asked.push(note(key, rig.enqueue(key)))
    }
    if (dice.draw(2) === 0) await rig.clock.advance(dice.draw(1_500))
    if (rig.store.held === 0) continue
    const write = await rig.store.underWay()
    const fate = dice.draw(5)
    if (fate === 0) await rig.clock.settle()
    // Unless it was built on one that failed.
    if (fate === 1) await write.store().catch(() => undefined)
    if (fate < 2) write.fail()
    else await write.confirm()
  }
  await rig.store.letGo()
  await Promise.all(asked)
  return { rig, taken }
}

type Taken = Map<string, Set<unknown>>

it.each(Array.from({ length: 10 }, (_, n) => n))(
  'ENQUEUE-13: whatever fails, a key has one job, and whoever was answered was told of it (seed %i)',
  async (seed) => {
    const { rig, taken } = await play(seed)
    const jobs = new Set(await rig.jobs())
    expect(taken.size).toBeGreaterThan(20)
    for (const [key, ids] of taken) {
      expect(ids.size, key).toBe(1)
      for (const id of ids) expect(jobs, key).toContain(id)
    }
    // Of keys that only ever failed there may be one too.
    expect(jobs.size).toBeLessThanOrEqual(40)
    await rig.close()
  },
)
