import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock, Limit } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { limiterConformance, START, type TrialLimiter } from '@fairlead/limiter/conformance'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { HeldStore } from './held-store.ts'

/** A clock that is moved by hand, and wakes nobody: calls come at their own times. */
class HandClock implements Clock {
  nowMs = START
  now(): number {
    return this.nowMs
  }
  wakeAt(): () => void {
    return () => {}
  }
}

async function openTrial(limits: readonly Limit[]): Promise<TrialLimiter> {
  const clock = new HandClock()
  const engine = await openEngine({ store: new MemoryStore(), clock })
  for (const limit of limits) await engine.limiter.define(limit)
  return {
    limiter: engine.limiter,
    advance: (ms) => {
      clock.nowMs += ms
    },
    close: () => engine.close(),
  }
}

limiterConformance('engine', { open: openTrial })

describe('a log that is away', () => {
  it('ADMIT-1: a reserve that may not be stored answers backend_error, and the same call again tells', async () => {
    const store = new HeldStore()
    const clock = new HandClock()
    const { limiter, ...engine } = await openEngine({ store, clock }).then((opened) => ({
      limiter: opened.limiter,
      close: () => opened.close(),
    }))
    await limiter.define({ key: 'k', kind: 'fixed', capacity: 10, windowSecs: 60 })
    await limiter.define({ key: 'other', kind: 'concurrency', capacity: 10, timeoutSecs: 60 })
    let held = 0
    for (const fate of ['fails', 'answer lost'] as const) {
      const request = { leaseId: `k-${fate}`, requirements: [{ key: 'k', amount: 4 }] }
      await limiter.reserve({ leaseId: fate, requirements: [{ key: 'other', amount: 1 }] })
      store.fate = () => fate
      expect(await limiter.reserve(request)).toMatchObject({
        allowed: false,
        error: 'backend_error',
        retryAfterMs: 100,
      })
      expect(await limiter.complete({ leaseId: fate })).toMatchObject({ error: 'backend_error' })
      store.fate = () => 'ok'
      expect(await limiter.reserve(request)).toMatchObject({ allowed: true })
      held += 4
      expect(await limiter.get('k')).toMatchObject({ held })
    }
    await engine.close()
  })
})

describe('on SQLite', () => {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
  })

  it('ADMIT-1: a restart forgets no definition, hold, debt, level or lease id', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-limits-'))
    folders.push(folder)
    const clock = new HandClock()
    const open = async () =>
      openEngine({ store: await openSqliteStore(join(folder, 'fairlead.db')), clock })
    const first = await open()
    const limits: Limit[] = [
      { key: 'roll', kind: 'rolling', capacity: 10, windowSecs: 60, unit: 'tokens' },
      { key: 'conc', kind: 'concurrency', capacity: 3, timeoutSecs: 600 },
      // Its level is beyond 2^64.
      { key: 'wide', kind: 'bucket', burst: Number.MAX_SAFE_INTEGER, rate: 0.125 },
    ]
    for (const limit of limits) await first.limiter.define(limit)
    const reserve = (leaseId: string, key: string, amount: number) => ({
      leaseId,
      requirements: [{ key, amount }],
    })
    await first.limiter.reserveMany([
      reserve('a', 'roll', 8),
      reserve('b', 'roll', 8),
      reserve('c', 'conc', 1),
      reserve('d', 'conc', 2),
      reserve('e', 'wide', 7),
    ])
    clock.nowMs += 1_000
    await first.limiter.complete({ leaseId: 'a', actuals: [{ key: 'roll', amount: 15 }] })
    await first.limiter.define({ key: 'conc', kind: 'concurrency', capacity: 1, timeoutSecs: 600 })
    const before = await first.limiter.list()
    await first.close()

    const { limiter, close } = await open().then((opened) => ({
      limiter: opened.limiter,
      close: () => opened.close(),
    }))
    expect(await limiter.list()).toEqual(before)
    expect(before).toMatchObject([
      { state: 'decreasing', pendingDecreaseTo: 1, held: 3 },
      { held: 15 },
      { limit: { rate: 0.125 } },
    ])
    const answers = await limiter.reserveMany([
      reserve('a', 'roll', 8),
      reserve('b', 'roll', 8),
      reserve('c', 'conc', 1),
      reserve('f', 'conc', 1),
    ])
    expect(answers).toMatchObject([
      { error: 'lease_finished' },
      { error: 'lease_already_denied' },
      { allowed: true, reservedAtUnixMs: START },
      { error: 'limit_decreasing:conc' },
    ])
    await limiter.complete({ leaseId: 'd' })
    expect(await limiter.get('conc')).toMatchObject({ state: 'active', held: 1 })
    await close()
  })
})
