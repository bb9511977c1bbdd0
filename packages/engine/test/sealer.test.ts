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
import { type LogRecord, NO_ROWS, type StoreReads, type WriteBatch } from '@fairlead/core/internal'
import { type Engine, type Holder, openEngine, Sealer } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { describe, expect, it } from 'vitest'
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
    await first.close()
    const later = await engineOn(store, [randomBytes(32), KEY])
    expect(await later.enqueue(REQUEST, { caller: ACME })).toBe(id)
  })

  it('FILES-4: one that cannot be opened is marked, and those beside it are read', async () => {
    const store = new MemoryStore()
    const first = await engineOn(store, [KEY])
    const id = await first.enqueue(REQUEST, { caller: ACME })
    await first.close()
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
    const damaged: StoreReads = {
      ...store.read,
      payloads: async (seqs) =>
        (await store.read.payloads(seqs)).map(
          (payload) => payload && Uint8Array.from(payload).fill(0, 60, 61),
        ),
    }
    const [read] = await new Sealer([KEY]).opened(damaged).payloads([seq])
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
    const shown = (await new Sealer([randomBytes(32)]).opened(store.read).result(id))?.output
    const end = { outcome: 'booked', fee_status: 'charged' }
    expect(decodeCbor(shown as Uint8Array)).toEqual({ ...end, unreadable: true })
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
    expect((await engine.view.read.result(id))?.output).toEqual(output)
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

describe('the log', () => {
  const PHONE = '+49 151 5550123'
  const PERSONAL = [NAME, 'user-4711', PHONE, 'swim-shorts', 'BK-778899', 'Kim lives at']

  /** All that a session of registrations brings about: bookings, failures with messages, cancellations. */
  async function session(store: MemoryStore, sealKeys: readonly Uint8Array[]): Promise<void> {
    const clock = new TestClock(START)
    const engine = await openEngine({ store, clock, sealKeys })
    const provider = 'provider:signup' as ProviderId
    await engine.registerProvider(provider, {
      ...{ capabilities: new Set(['registration'] as const), platforms: new Set(['bookeo']) },
    })
    const worker = await ManualWorker.connect(engine, provider, { id: 'w-1', slots: 4 })
    const args = { child: NAME, phone: PHONE, wears: 'swim-shorts' }
    for (const n of [1, 2, 3]) {
      const payload = { ...REQUEST.payload, user_id: `user-4711-${n}`, args }
      await engine.enqueue({ ...REQUEST, idempotency_key: `k-${n}`, payload }, { caller: ACME })
    }
    await clock.advance(62_000)
    expect(worker.offers).toHaveLength(3)
    const [one, two, three] = worker.offers.map(({ leaseId }) => {
      return { leaseId, by: provider, workerId: worker.id }
    }) as [Holder, Holder, Holder]
    const booking = { outcome: 'booked', fee_status: 'failed', booking_number: 'BK-778899' }
    const meta = encodeCbor({ seat: NAME })
    await engine.complete({ ...one, output: encodeCbor(booking), meta })
    const said = { message: `Kim lives at 5 Elm Road, ${PHONE}`, details: encodeCbor({ of: NAME }) }
    await engine.fail({ ...two, code: 'sold_out', permanent: true, http: 409, ...said })
    await engine.fail({ ...three, code: 'busy', permanent: false, http: 429, ...said })
    await clock.advance(1_000)
    await engine.checkpoint()
  }

  /** The bytes of all records and rows as latin-1 text, in which every text of ASCII shows. */
  async function bytesOf(store: KeptLog): Promise<string> {
    const rows = await store.read.everything()
    const parts = [...store.bodies, ...rows.flatMap(([, row]) => Object.values(row))]
    const text = (part: unknown): string =>
      part instanceof Uint8Array
        ? Buffer.from(part).toString('latin1')
        : JSON.stringify(part, (_, value: unknown) =>
            typeof value === 'bigint' ? `${value}` : value,
          )
    return parts.map(text).join('\n')
  }

  it('SEAL-1: has nothing of people, and neither have the tables', async () => {
    const store = new KeptLog()
    await session(store, [KEY])
    const bytes = await bytesOf(store)
    for (const text of PERSONAL) expect(bytes).not.toContain(text)
    // Place and time of a registration are no secret, nor is the end of it.
    for (const text of ['bookeo', 'swim', 'booked', 'sold_out']) expect(bytes).toContain(text)
  })

  it('SEAL-1: is searched for what would be found without keys', async () => {
    const store = new KeptLog()
    await session(store, [])
    const bytes = await bytesOf(store)
    for (const text of [NAME, 'user-4711', PHONE, 'BK-778899']) expect(bytes).toContain(text)
    // The words of a booking site are left out either way (FAIL-5).
    expect(bytes).not.toContain('Kim lives at')
  })

  it('SEAL-1, RECOVER-1: a replica without the key follows, and decides the same about fees', async () => {
    const store = new KeptLog()
    await session(store, [KEY])
    const journal = await store.read.journal(0, 1_000)
    expect(journal.map(({ action }) => action)).toContain('feeFailed')
    const clock = new TestClock(START + 63_000)
    const replayed = new MemoryStore()
    await replayed.tables.apply({ ...NO_ROWS, meta: store.installed }, 0)
    for (const record of store.records) await replayed.log.append(record)
    const engine = await openEngine({ store: replayed, clock })
    expect(await engine.view.read.journal(0, journal.length)).toEqual(journal)
    await engine.close()
  })
})

/** A store that remembers all records, those that were trimmed included. */
class KeptLog extends MemoryStore {
  readonly records: LogRecord[] = []
  /** The named values of the new store. */
  installed: WriteBatch['meta'] = {}

  constructor() {
    super()
    const { log, tables } = this
    const append = log.append.bind(log)
    log.append = (record) => {
      this.records.push({ ...record, body: Uint8Array.from(record.body) })
      return append(record)
    }
    const apply = tables.apply.bind(tables)
    tables.apply = (rows, batch) => {
      if (batch === 0) this.installed = rows.meta
      return apply(rows, batch)
    }
  }

  get bodies(): Uint8Array[] {
    return this.records.map(({ body }) => body)
  }
}

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
