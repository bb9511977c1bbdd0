import { randomBytes } from 'node:crypto'
import type { JobRow } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import { ACME, START } from './rig.ts'

const KEY = randomBytes(32)
const NAME = 'Kim Example'
const REQUEST = {
  kind: 'registration',
  idempotency_key: 'one',
  payload: {
    provider: 'bookeo',
    org_ref: 'north',
    event_id: 'swim',
    user_id: 'user-4711',
    args: { child: NAME },
    scheduled_time: START + 60_000,
  },
}

async function engineOn(store: MemoryStore, sealKeys: readonly Uint8Array[]) {
  return openEngine({ store, clock: new TestClock(START), sealKeys })
}

/** The first row of a store's jobs, as it is under the seal. */
async function stored(store: MemoryStore): Promise<string> {
  const [row] = await store.read.jobs({ afterSeq: 0, limit: 1 })
  const [payload] = await store.read.payloads([(row as JobRow).seq])
  return Buffer.from(payload as Uint8Array).toString('latin1')
}

describe('personal data at rest', () => {
  it('AUDIT-9: what a registration says of people is encrypted, and its worker and reader see it', async () => {
    const store = new MemoryStore()
    const engine = await engineOn(store, [KEY])
    const id = await engine.enqueue(REQUEST, { caller: ACME })
    expect(await stored(store)).not.toContain(NAME)
    expect(await stored(store)).not.toContain('user-4711')
    const { seq } = await engine.getJob(id)
    const [opened] = await engine.view.read.payloads([seq])
    expect(Buffer.from(opened as Uint8Array).toString('latin1')).toContain(NAME)
    // The same request again is the first one, although what is stored looks otherwise.
    expect(await engine.enqueue(REQUEST, { caller: ACME })).toBe(id)
    await engine.close()
  })

  it('AUDIT-9: another key seals from now on, and the old one still opens', async () => {
    const store = new MemoryStore()
    const first = await engineOn(store, [KEY])
    const id = await first.enqueue(REQUEST, { caller: ACME })
    const later = await engineOn(store, [randomBytes(32), KEY])
    expect(await later.enqueue(REQUEST, { caller: ACME })).toBe(id)
    const without = await engineOn(store, [randomBytes(32)])
    const { seq } = await without.getJob(id)
    await expect(without.view.read.payloads([seq])).rejects.toMatchObject({
      code: 'StoreUnavailable',
    })
  })

  it('AUDIT-10: it goes with its job, no later than personal data may be kept', async () => {
    const store = new MemoryStore()
    const clock = new TestClock(START)
    const policy = { audit: { pii_retention_secs: 120 } }
    const engine = await openEngine({ store, clock, policy, sealKeys: [KEY] })
    const id = await engine.enqueue(REQUEST, { caller: ACME })
    const { seq } = await engine.getJob(id)
    await engine.cancel(id, ACME)
    await clock.advance(100_000)
    expect(await store.read.payloads([seq])).not.toEqual([null])
    await clock.advance(90_000)
    expect(await store.read.payloads([seq])).toEqual([null])
    await engine.close()
  })
})
