import { MemoryStore } from '@fairlead/testkit'
import { expect, it } from 'vitest'
import { MeteredStore } from './metered-store.ts'

const record = (batch: number) => ({ batch, digest: batch, body: Uint8Array.of(1, 2, 3) })

it('READY-1: tells when appends begin to be refused, and when they are taken again', async () => {
  const inner = new MemoryStore()
  const store = new MeteredStore(inner)
  const turns: boolean[] = []
  const bytes: number[] = []
  store.onAppend((append) => {
    bytes.push(append.bytes)
    if (append.isTurn) turns.push(append.isTaken)
  })
  await store.log.append(record(1))
  expect(store.health).toEqual({ failingSince: null, pendingSince: null })
  inner.fate = () => 'fails'
  await expect(store.log.append(record(2))).rejects.toThrow()
  await expect(store.log.append(record(2))).rejects.toThrow()
  expect(store.health.failingSince).not.toBeNull()
  inner.fate = () => 'ok'
  await store.log.append(record(2))
  expect(store.health).toEqual({ failingSince: null, pendingSince: null })
  expect(turns).toEqual([false, true])
  expect(bytes).toEqual([3, 3, 3, 3])
})
