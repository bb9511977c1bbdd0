import { randomBytes } from 'node:crypto'
import {
  type CborMap,
  decodeCbor,
  encodeCbor,
  type JobId,
  type JobRow,
  type LeaseOffer,
  type ProviderId,
} from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
import { SealedStore } from '../src/projector/sealed-store.ts'
import { ManualWorker } from './manual-worker.ts'
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
  })

  it('FILES-4: one that cannot be opened is marked, and those beside it are read', async () => {
    const store = new MemoryStore()
    const first = await engineOn(store, [KEY])
    const id = await first.enqueue(REQUEST, { caller: ACME })
    const later = await engineOn(store, [randomBytes(32)])
    const mine = {
      ...REQUEST,
      idempotency_key: 'two',
      payload: { ...REQUEST.payload, user_id: 'u-2' },
    }
    const other = await later.enqueue(mine, { caller: ACME })
    const seqs = (await Promise.all([id, other].map((one) => later.getJob(one)))).map(
      ({ seq }) => seq,
    )
    const [lost, read] = (await later.view.read.payloads(seqs)) as Uint8Array[]
    const { provider, org_ref, event_id, scheduled_time } = REQUEST.payload
    const where = { provider, org_ref, event_id, scheduled_time }
    expect(decodeCbor(lost as Uint8Array)).toEqual({ ...where, unreadable: true })
    expect(decodeCbor(read as Uint8Array)).toHaveProperty('user_id', 'u-2')
    // The same request again is known by its id, and another one under its key is a conflict.
    expect(await later.enqueue(REQUEST, { caller: ACME })).toBe(id)
    const changed = { ...REQUEST, payload: { ...REQUEST.payload, user_id: 'u-3' } }
    await expect(later.enqueue(changed, { caller: ACME })).rejects.toMatchObject({
      code: 'IdempotencyConflict',
    })
  })

  it('FILES-4: a damaged one is marked, too', async () => {
    const store = new MemoryStore()
    const engine = await engineOn(store, [KEY])
    const id = await engine.enqueue(REQUEST, { caller: ACME })
    const { seq } = await engine.getJob(id)
    const { payloads } = store.read
    store.read.payloads = async (seqs) =>
      (await payloads(seqs)).map((payload) => payload && Uint8Array.from(payload).fill(0, 60, 61))
    const [read] = await new SealedStore(store, [KEY]).read.payloads([seq])
    expect(decodeCbor(read as Uint8Array)).toHaveProperty('unreadable', true)
  })

  it('FILES-4: the work of one that cannot be opened is given to nobody, and that of others is', async () => {
    const store = new MemoryStore()
    const clock = new TestClock(START)
    const before = await openEngine({ store, clock, sealKeys: [KEY] })
    await before.enqueue(REQUEST, { caller: ACME })
    await before.close()
    const engine = await openEngine({ store, clock, sealKeys: [randomBytes(32)] })
    const mine = {
      ...REQUEST,
      idempotency_key: 'two',
      payload: { ...REQUEST.payload, user_id: 'u-2' },
    }
    const other = await engine.enqueue(mine, { caller: ACME })
    const provider = 'provider:signup' as ProviderId
    await engine.registerProvider(provider, {
      ...{ capabilities: new Set(['registration'] as const), platforms: new Set(['bookeo']) },
    })
    const worker = await ManualWorker.connect(engine, provider, { id: 'w-1', slots: 2 })
    await clock.advance(61_000)
    expect(worker.offers.map(({ jobId }) => jobId)).toEqual([other])
    await engine.close()
  })

  it('AUDIT-11: what a registration brought is encrypted, read as it was, and erased with the rest', async () => {
    const store = new MemoryStore()
    const clock = new TestClock(START)
    const policy = { audit: { pii_retention_secs: 120 } }
    const engine = await openEngine({ store, clock, policy, sealKeys: [KEY] })
    const output = encodeCbor({ outcome: 'booked', fee_status: 'charged', booking_number: NAME })
    const meta = encodeCbor({ sent_after_ms: 3, seat: NAME })
    const id = await booked(engine, clock, { output, meta })
    expect(await resultOf(engine, id)).toEqual([output, meta])
    const under = async () => Buffer.concat(await resultOf(store, id)).toString('latin1')
    expect(await under()).not.toContain(NAME)
    expect(await under()).toContain('sealed')
    // Another key does not open it: how it ended is left, and a mark.
    const without = await openEngine({ store, clock, sealKeys: [randomBytes(32)] })
    const [shown] = await resultOf(without, id)
    const end = { outcome: 'booked', fee_status: 'charged' }
    expect(decodeCbor(shown as Uint8Array)).toEqual({ ...end, unreadable: true })
    await without.close()
    await clock.advance(200_000)
    const left = [
      encodeCbor({ outcome: 'booked', fee_status: 'charged' }),
      encodeCbor({ sent_after_ms: 3 }),
    ]
    expect(await resultOf(store, id)).toEqual(left)
    expect(await resultOf(engine, id)).toEqual(left)
    await engine.close()
  })

  it('AUDIT-11: the result of any other job is stored as it is', async () => {
    const store = new MemoryStore()
    const clock = new TestClock(START)
    const engine = await openEngine({ store, clock, sealKeys: [KEY] })
    const provider = 'provider:p' as ProviderId
    await engine.registerProvider(provider, {
      ...{ capabilities: new Set(['task'] as const), models: new Set(['*']) },
    })
    const worker = await ManualWorker.connect(engine, provider, { id: 'w-1', slots: 1 })
    const id = await engine.enqueue(
      { kind: 'task', payload: { name: 'x', args: {} } },
      { caller: ACME },
    )
    await clock.settle()
    const { leaseId } = worker.offers[0] as LeaseOffer
    const output = encodeCbor({ outcome: 'booked', booking_number: NAME })
    await engine.complete({ leaseId, by: provider, workerId: worker.id, output })
    expect((await store.read.result(id))?.output).toEqual(output)
    await engine.close()
  })

  it('AUDIT-10: it is erased after its own time, and job, timeline and key stay', async () => {
    const store = new MemoryStore()
    const clock = new TestClock(START)
    const policy = { audit: { pii_retention_secs: 120 } }
    let engine = await openEngine({ store, clock, policy, sealKeys: [KEY] })
    const id = await engine.enqueue(REQUEST, { caller: ACME })
    const { seq } = await engine.getJob(id)
    await engine.cancel(id, ACME)
    await clock.advance(100_000)
    expect(await opened(engine, seq)).toHaveProperty('user_id')
    // Nobody was there when its time was over.
    await engine.close()
    await clock.advance(90_000)
    engine = await openEngine({ store, clock, sealKeys: [KEY] })
    await clock.advance(60_000)
    const { provider, org_ref, event_id, scheduled_time } = REQUEST.payload
    expect(await opened(engine, seq)).toEqual({ provider, org_ref, event_id, scheduled_time })
    expect(await stored(store)).not.toContain('sealed')
    expect((await engine.getJob(id)).status).toBe('CANCELED')
    expect(await engine.timeline(id)).toHaveLength(2)
    // It is still known for what it was, by its id alone.
    expect(await engine.enqueue(REQUEST, { caller: ACME })).toBe(id)
    const another = { ...REQUEST, payload: { ...REQUEST.payload, user_id: 'user-4712' } }
    await expect(engine.enqueue(another, { caller: ACME })).rejects.toMatchObject({
      code: 'IdempotencyConflict',
      details: { field: 'idempotency_key', jobId: id },
    })
    await engine.close()
  })

  it('AUDIT-10: a shorter time counts for those who ended before, and other kinds are kept', async () => {
    const store = new MemoryStore()
    const clock = new TestClock(START)
    const engine = await openEngine({ store, clock })
    const task = { kind: 'task', payload: { name: 'resize', args: { user_id: 'user-4711' } } }
    const ids = await Promise.all(
      [REQUEST, task].map((request) => engine.enqueue(request, { caller: ACME })),
    )
    const jobs = await Promise.all(ids.map((id) => engine.getJob(id)))
    for (const id of ids) await engine.cancel(id, ACME)
    await clock.advance(600_000)
    const [registration, other] = jobs.map(({ seq }) => seq) as [number, number]
    expect(await opened(engine, registration)).toHaveProperty('args')
    await engine.setPolicy({ audit: { pii_retention_secs: 300 } })
    await clock.advance(60_000)
    expect(await opened(engine, registration)).not.toHaveProperty('args')
    expect(await opened(engine, other)).toHaveProperty('args')
    await engine.close()
  })
})

async function opened(engine: Engine, seq: number): Promise<CborMap> {
  const [payload] = await engine.view.read.payloads([seq])
  return decodeCbor(payload as Uint8Array) as CborMap
}

/** Schedules the registration, waits for its opening and completes it. */
async function booked(
  engine: Engine,
  clock: TestClock,
  brought: { readonly output: Uint8Array; readonly meta: Uint8Array },
): Promise<JobId> {
  const provider = 'provider:signup' as ProviderId
  await engine.registerProvider(provider, {
    ...{ capabilities: new Set(['registration'] as const), platforms: new Set(['bookeo']) },
  })
  const worker = await ManualWorker.connect(engine, provider, { id: 'w-1', slots: 1 })
  const id = await engine.enqueue(REQUEST, { caller: ACME })
  await clock.advance(60_000)
  const { leaseId } = worker.offers[0] as LeaseOffer
  const holder = { leaseId, by: provider, workerId: worker.id }
  await engine.ack(holder)
  await engine.complete({ ...holder, ...brought })
  return id
}

async function resultOf(from: Engine | MemoryStore, id: JobId): Promise<Uint8Array[]> {
  const { read } = 'view' in from ? from.view : from
  const { output, meta } = (await read.result(id)) as NonNullable<
    Awaited<ReturnType<typeof read.result>>
  >
  return [output, meta].map((bytes) => Uint8Array.from(bytes ?? []))
}
