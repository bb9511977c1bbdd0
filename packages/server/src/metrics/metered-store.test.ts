import type { Store } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MeteredStore } from './metered-store.ts'

const LISTS = 'newJobs jobs newLeases leases providers results shares rounds journal'.split(' ')
const EMPTY = Object.fromEntries(LISTS.map((name) => [name, []])) as unknown as WriteBatch
const WITH_ROWS = { ...EMPTY, journal: [{}] } as unknown as WriteBatch

/** A store that takes a write or does not, as it is told. */
function metered(): { store: MeteredStore; fate: { isFull: boolean } } {
  const fate = { isFull: false }
  const inner: Store = Object.assign(new MemoryStore(), {
    commit: async () => {
      if (fate.isFull) throw new Error('the disk is full')
    },
  })
  return { store: new MeteredStore(inner), fate }
}

afterEach(() => void vi.useRealTimers())

describe('what is known of the writes of a store', () => {
  it('READY-1: a sign of life after a refusal does not tell that writes are taken, for 10 s', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const { store, fate } = metered()
    const turns: boolean[] = []
    store.onCommit(({ isTaken, isTurn }) => isTurn && turns.push(isTaken))
    fate.isFull = true
    await expect(store.commit(WITH_ROWS)).rejects.toThrow('full')
    await expect(store.commit(WITH_ROWS)).rejects.toThrow('full')
    fate.isFull = false
    vi.advanceTimersByTime(10_000)
    await store.commit(EMPTY)
    expect(store.health.failingSince).not.toBeNull()
    vi.advanceTimersByTime(1)
    await store.commit(EMPTY)
    expect(store.health.failingSince).toBeNull()
    fate.isFull = true
    await expect(store.commit(EMPTY)).rejects.toThrow('full')
    fate.isFull = false
    await store.commit(WITH_ROWS)
    expect(store.health.failingSince).toBeNull()
    expect(turns).toEqual([false, true, false, true])
  })
})
