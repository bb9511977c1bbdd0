import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Seed, type Store, taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { HeldAnswer, HeldAppend } from './held-store.ts'
import { ACME, ATLAS, Call, outcomesOf, Rig } from './rig.ts'

const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['in memory', async () => new MemoryStore()],
  ['on SQLite in memory', () => openSqliteStore(':memory:')],
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
  async function firstWrite(): Promise<HeldAppend> {
    const write = await rig.store.underWay()
    await rig.clock.advance(2_000)
    return write
  }

  async function expectOne(calls: readonly Call<unknown>[]): Promise<void> {
    const taken = calls.filter(({ outcome }) => outcome === 'ok').map(({ value }) => value)
    expect(new Set(taken).size).toBe(1)
    expect(await rig.jobs()).toEqual([taken[0]])
  }

  it('ENQUEUE-13, KEYS-1: asked for again while the first is being written is the same job', async () => {
    const first = rig.enqueue('k')
    const write = await firstWrite()
    const again = [rig.enqueue('k'), rig.enqueue('k')]
    await rig.clock.settle()
    const other = rig.enqueue('k', { n: 2 })
    await rig.clock.settle()
    expect([first, ...again, other].map(({ outcome }) => outcome)).toEqual(Array(4).fill('pending'))
    rig.store.isHolding = false
    await write.confirm()
    await rig.store.letGo()
    expect(await outcomesOf([first, ...again])).toEqual(['ok', 'ok', 'ok'])
    expect(await other.done).toBe('IdempotencyConflict')
    await expectOne([first, ...again])
  })

  it('ENQUEUE-13, KEYS-1: asked for again in the same turn, and in the next one of an open batch', async () => {
    const blocking = new Call(rig.engine.heartbeat(ATLAS))
    const write = await firstWrite()
    const calls = [rig.enqueue('k'), rig.enqueue('k')]
    await rig.clock.settle()
    calls.push(rig.enqueue('k'))
    await rig.clock.settle()
    rig.store.isHolding = false
    await write.confirm()
    expect(await blocking.done).toBe('ok')
    expect(await outcomesOf(calls)).toEqual(['ok', 'ok', 'ok'])
    await expectOne(calls)
  })

  it('ENQUEUE-13, KEYS-1: asked for again while the log has it and the tables do not, is the same job', async () => {
    rig.store.isHoldingRows = true
    const calls = [rig.enqueue('k')]
    const write = await firstWrite()
    rig.store.isHolding = false
    await write.confirm()
    expect(await calls[0]?.done).toBe('ok')
    for (let i = 0; i < 3; i++) {
      const call = rig.enqueue('k')
      expect(await call.done).toBe('ok')
      calls.push(call)
      await rig.clock.advance(2_000)
    }
    expect(await rig.store.read.jobs({ afterSeq: 0, limit: 9 })).toEqual([])
    rig.store.letRowsGo()
    calls.push(rig.enqueue('k'))
    expect(await calls.at(-1)?.done).toBe('ok')
    await expectOne(calls)
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

  it('ENQUEUE-13, KEYS-1: whose rows come while other keys are looked up, is the same job', async () => {
    rig.store.isHolding = false
    const old = rig.enqueue('old')
    expect(await old.done).toBe('ok')
    // Its rows have come.
    expect(await rig.jobs()).toEqual([old.value])
    rig.store.isHoldingRows = true
    const first = rig.enqueue('k')
    expect(await first.done).toBe('ok')
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const again = [rig.enqueue('old'), rig.enqueue('k')]
    await lookUp.asked
    rig.store.letRowsGo()
    await rig.clock.advance(2_000)
    lookUp.release()
    expect(await outcomesOf(again)).toEqual(['ok', 'ok'])
    expect(again.map(({ value }) => value)).toEqual([old.value, first.value])
    expect(await rig.jobs()).toEqual([old.value, first.value])
  })

  it('ENQUEUE-13, LOOP-1: asked for again after its append failed is one job', async () => {
    const calls = [rig.enqueue('k')]
    const write = await firstWrite()
    calls.push(rig.enqueue('k'))
    await rig.clock.settle()
    rig.store.isHolding = false
    write.fail()
    expect(await outcomesOf(calls)).toEqual(['StoreUnavailable', 'StoreUnavailable'])
    const again = [rig.enqueue('k'), rig.enqueue('k')]
    expect(await outcomesOf(again)).toEqual(['ok', 'ok'])
    await expectOne(again)
  })

  it('LOOP-1: asked for again after its answer was lost is the job that was stored', async () => {
    const first = rig.enqueue('k')
    const write = await firstWrite()
    await write.store()
    rig.store.isHolding = false
    write.fail()
    expect(await first.done).toBe('StoreUnavailable')
    const again = [rig.enqueue('k'), rig.enqueue('k')]
    expect(await outcomesOf(again)).toEqual(['ok', 'ok'])
    await expectOne(again)
  })

  it('ENGINE-4, KEYS-1: asked for again after a restart is the job that only the log has', async () => {
    rig.store.isHoldingRows = true
    const first = rig.enqueue('k')
    const write = await firstWrite()
    await write.confirm()
    expect(await first.done).toBe('ok')
    rig.store.isHolding = false
    // Its rows never come.
    await rig.crash(1_000)
    const again = rig.enqueue('k')
    expect(await again.done).toBe('ok')
    await expectOne([first, again])
  })
})

describe('a look-up of keys that hangs', () => {
  let rig: Rig

  beforeEach(async () => {
    rig = await Rig.open()
  })
  afterEach(() => rig.close())

  it('KEYS-3: holds back enqueues in their order, and nothing else', async () => {
    const worker = await rig.connect('w-1', { slots: 2 })
    const [one, two] = [await rig.offered('a', worker), await rig.offered('b', worker)]
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const held = [rig.enqueue('c'), rig.enqueue('d')]
    await lookUp.asked
    held.push(rig.enqueue('a'), rig.enqueue('e'))
    const others = [
      rig.ack(one),
      rig.complete(one),
      rig.ack(two),
      new Call(rig.engine.fail({ leaseId: two.leaseId, by: ATLAS, code: 'oom', permanent: true })),
      new Call(rig.engine.heartbeat(ATLAS)),
    ]
    expect(await outcomesOf(others)).toEqual(others.map(() => 'ok'))
    expect(held.map(({ outcome }) => outcome)).toEqual(held.map(() => 'pending'))
    lookUp.release()
    expect(await outcomesOf(held)).toEqual(held.map(() => 'ok'))
    const [c, d, a, e] = held.map(({ value }) => value)
    expect(a).toBe(one.jobId)
    expect(await rig.jobs()).toEqual([one.jobId, two.jobId, c, d, e])
  })

  it('KEYS-3: refuses only the enqueues that asked, if the tables do not tell', async () => {
    const lookUp = rig.store.failAnswer('jobsByTx')
    const asked = rig.enqueue('c')
    const heartbeat = new Call(rig.engine.heartbeat(ATLAS))
    await lookUp
    expect(await outcomesOf([asked, heartbeat])).toEqual(['StoreUnavailable', 'ok'])
    expect(await rig.enqueue('c').done).toBe('ok')
    expect(await rig.jobs()).toHaveLength(1)
  })

  it('KEYS-1, KEYS-3: asked for twice by many that were looked up together is one job', async () => {
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const first = rig.enqueue('k')
    await lookUp.asked
    const others = Array.from({ length: 40 }, (_, n) => rig.enqueue(`k-${n}`))
    // All of them are looked up next.
    const again = others.map((_, n) => rig.enqueue(`k-${n}`))
    lookUp.release()
    const answers = outcomesOf([first, ...others, ...again])
    // Reads make the rows of the first come meanwhile.
    for (let i = 0; i < 20; i++) await rig.jobs()
    expect(await answers).toEqual(Array(81).fill('ok'))
    expect(again.map(({ value }) => value)).toEqual(others.map(({ value }) => value))
  })

  it('KEYS-3: answers all enqueues behind it, however many', async () => {
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const first = rig.enqueue('c')
    await lookUp.asked
    const request = { kind: 'none', idempotency_key: 'k' }
    const many = new Call(rig.engine.enqueueMany(Array(150_000).fill(request), { caller: ACME }))
    // A turn takes a few hundred of them.
    for (let i = 0; i < 1_000; i++) await rig.clock.settle()
    lookUp.release()
    expect(await first.done).toBe('ok')
    expect(await many.done).toBe('ok')
  })

  it('KEYS-3: an engine that closes answers the enqueues that wait for it', async () => {
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const held = rig.enqueue('c')
    await lookUp.asked
    const closed = rig.engine.close()
    lookUp.release()
    expect(await held.done).toBe('ok')
    await closed
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
  let lookUp: HeldAnswer | null = null
  for (let i = 0; i < 60; i++) {
    lookUp?.release()
    // Answers that tell what was there a while ago, and rows that come meanwhile.
    lookUp = dice.draw(3) === 0 ? rig.store.holdAnswer('jobsByTx') : null
    if (dice.draw(3) === 0) rig.store.isHoldingRows = true
    else if (dice.draw(2) === 0) rig.store.letRowsGo()
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
    if (fate === 1) await write.store()
    if (fate < 2) write.fail()
    else await write.confirm()
  }
  lookUp?.release()
  rig.store.letRowsGo()
  await rig.store.letGo()
  await Promise.all(asked)
  return { rig, taken }
}

type Taken = Map<string, Set<unknown>>

it.each(Array.from({ length: 10 }, (_, n) => n))(
  'ENQUEUE-13, LOOP-1: whatever fails, a key has one job, and whoever was answered was told of it (seed %i)',
  async (seed) => {
    const { rig, taken } = await play(seed)
    const jobs = new Set(await rig.jobs())
    expect(taken.size).toBeGreaterThan(20)
    for (const [key, ids] of taken) {
      expect(ids.size, key).toBe(1)
      for (const id of ids) expect(jobs, key).toContain(id)
    }
    // Those of failed appends happened too.
    expect(jobs.size).toBeLessThanOrEqual(40)
    await rig.close()
  },
)
