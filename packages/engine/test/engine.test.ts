import {
  brokenSeq,
  type Caller,
  callerOf,
  type JobId,
  type LeaseId,
  type LeaseOffer,
  type ProviderId,
} from '@fairlead/core'
import { type Engine, type EngineEvent, openEngine } from '@fairlead/engine'
import { TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AppendFate, HeldStore } from './held-store.ts'
import { ManualWorker } from './manual-worker.ts'

const START = 1_760_000_000_000
const ATLAS = 'provider:atlas' as ProviderId
const ACME: Caller = callerOf('acme')
const DIGEST = `0x${'d'.repeat(64)}`
const TASK = { kind: 'task', payload: { name: 'resize', args: { width: 640 } } }
const OFFER = { capabilities: new Set(['task', 'ai'] as const), models: new Set(['*']) }
const LIMIT = { key: 'k', kind: 'concurrency', capacity: 2, timeoutSecs: 60 } as const

let store: HeldStore
let clock: TestClock
let engine: Engine
let worker: ManualWorker

beforeEach(async () => {
  store = new HeldStore()
  clock = new TestClock(START)
  engine = await openEngine({ store, clock })
})
afterEach(() => engine.close())

async function withProvider(): Promise<void> {
  await engine.registerProvider(ATLAS, OFFER)
  worker = await ManualWorker.connect(engine, ATLAS)
}

/** A task that was enqueued and offered. */
async function offered(key: string): Promise<LeaseOffer> {
  await engine.enqueue({ ...TASK, idempotency_key: key }, { caller: ACME })
  await clock.settle()
  return worker.offered
}

function holder({ leaseId }: LeaseOffer): { leaseId: LeaseId; by: ProviderId } {
  return { leaseId, by: ATLAS }
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'ok'
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('a job', () => {
  it('ENGINE-2: goes through enqueue, offer, ack and completion to its result', async () => {
    await withProvider()
    const jobId = await engine.enqueue(TASK, { caller: ACME })
    await clock.settle()
    const offer = worker.offered
    expect(offer).toMatchObject({
      jobId,
      providerId: ATLAS,
      attempt: 0,
      kind: 'task',
      model: 'resize',
    })
    expect(await engine.getJob(jobId)).toMatchObject({ status: 'ASSIGNED', providerId: ATLAS })
    expect(await codeOf(engine.getResult(jobId))).toBe('NoResultYet')

    await engine.ack(holder(offer))
    expect((await engine.getJob(jobId)).status).toBe('RUNNING')
    const output = new TextEncoder().encode('done')
    await engine.complete({ ...holder(offer), output })
    expect(await engine.getJob(jobId)).toMatchObject({ status: 'COMPLETED', endedAt: START })
    expect(await engine.getResult(jobId)).toMatchObject({ jobId, output, units: 1 })
    const told = (await engine.timeline(jobId)).map(({ action }) => action)
    expect(told).toEqual(['jobEnqueued', 'jobAssigned', 'jobStarted', 'jobCompleted'])
  })

  it('LEASE-3: whose offer nobody acks comes back by itself, and is offered again', async () => {
    await withProvider()
    const { jobId } = await offered('a')
    await clock.advance(4_999)
    expect((await engine.getJob(jobId)).retries).toBe(0)
    await clock.advance(1)
    expect(await engine.getJob(jobId)).toMatchObject({ status: 'QUEUED', retries: 1 })
    await clock.advance(10_000)
    expect(worker.offers.map(({ attempt }) => attempt)).toEqual([0, 1])
  })

  it('ORDER-8: whose backoff ends shortly after a round is offered at its own time', async () => {
    await withProvider()
    const offer = await offered('a')
    await engine.fail({ ...holder(offer), code: 'oom', permanent: false })
    const { notBefore } = await engine.getJob(offer.jobId)
    await clock.advance((notBefore ?? 0) - START - 100)
    await offered('b')
    await clock.advance(99)
    expect((await engine.getJob(offer.jobId)).status).toBe('QUEUED')
    await clock.advance(1)
    expect(worker.offered).toMatchObject({ jobId: offer.jobId, attempt: 1 })
  })

  it('ENQUEUE-6: the same key again is the same job, with another payload a conflict', async () => {
    const request = { ...TASK, idempotency_key: 'once' }
    const [first, second] = await engine.enqueueMany([request, request], { caller: ACME })
    expect(second).toEqual(first)
    await clock.advance(5_000)
    expect(await engine.enqueue(request, { caller: ACME })).toBe((first as { value: JobId }).value)
    const other = { ...request, payload: { name: 'resize', args: {} } }
    expect(await codeOf(engine.enqueue(other, { caller: ACME }))).toBe('IdempotencyConflict')
    // Another caller's key is another key.
    const theirs = await engine.enqueue(request, { caller: callerOf('birch') })
    expect(theirs).not.toBe((first as { value: JobId }).value)
    expect(engine.stats().waiting['task']).toBe(2)
  })

  it('ENGINE-5: a refused command in a batch harms no other', async () => {
    const bad = { kind: 'task', payload: { name: '' } }
    const [refused, taken] = await engine.enqueueMany([bad, TASK], { caller: ACME })
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'InvalidParams' } })
    expect(taken).toMatchObject({ status: 'fulfilled' })
  })

  it('ENGINE-5: many are answered one by one, in their order: none of none, and all of them after the end', async () => {
    expect(await engine.enqueueMany([], { caller: ACME })).toEqual([])
    await engine.close()
    const answers = await engine.enqueueMany([TASK, TASK], { caller: ACME })
    const closed = { status: 'rejected', reason: { code: 'StoreUnavailable' } }
    expect(answers).toMatchObject([closed, closed])
  })
})

describe('a completion', () => {
  it('ENGINE-8: keeps an output and what is said about it, within bounds and with the right digest', async () => {
    await withProvider()
    await engine.setPolicy({ queue: { completion: { output_max_bytes: 4, meta_max_bytes: 2 } } })
    const offer = await offered('a')
    const output = new TextEncoder().encode('done')
    const over = { ...holder(offer), output: Buffer.from('done!') }
    expect(await codeOf(engine.complete(over))).toBe('LimitExceeded')
    const large = { ...holder(offer), output, meta: Buffer.alloc(3) }
    expect(await codeOf(engine.complete(large))).toBe('LimitExceeded')
    expect(await codeOf(engine.complete({ ...holder(offer), output, digest: DIGEST }))).toBe(
      'InvalidParams',
    )
    expect((await engine.getJob(offer.jobId)).status).toBe('ASSIGNED')
    const meta = new Uint8Array(2)
    await engine.complete({ ...holder(offer), output, meta, actualUnits: 7 })
    expect(await engine.getResult(offer.jobId)).toMatchObject({ output, meta, units: 7 })
  })
})

describe('after the end', () => {
  it('ENGINE-7: a completion again answers as the first time, though the job left memory', async () => {
    await withProvider()
    const offer = await offered('a')
    await engine.complete({ ...holder(offer), digest: DIGEST })
    const before = store.appends
    expect(await codeOf(engine.complete({ ...holder(offer), digest: DIGEST }))).toBe('ok')
    const other = `0x${'e'.repeat(64)}`
    expect(await codeOf(engine.complete({ ...holder(offer), digest: other }))).toBe('LeaseNotLive')
    expect(await codeOf(engine.ack(holder(offer)))).toBe('LeaseNotLive')
    const stranger = { leaseId: offer.leaseId, by: 'provider:borealis' as ProviderId }
    expect(await codeOf(engine.ack(stranger))).toBe('Forbidden')
    const unknown = { leaseId: DIGEST as LeaseId, by: ATLAS }
    expect(await codeOf(engine.ack(unknown))).toBe('NotFound')
    expect(await engine.timeline(offer.jobId)).toHaveLength(3)
    expect(store.appends - before).toBeLessThanOrEqual(1)
  })

  it('STATE-5: an ended job cannot be cancelled, and not by a stranger anyway', async () => {
    await withProvider()
    const offer = await offered('a')
    await engine.complete({ ...holder(offer), digest: DIGEST })
    expect(await codeOf(engine.cancel(offer.jobId, ACME))).toBe('InvalidState')
    expect(await codeOf(engine.cancel(offer.jobId, callerOf('birch')))).toBe('Forbidden')
  })

  it('ENGINE-7: it is deleted after the horizon, and its result stays', async () => {
    await withProvider()
    const completion = { result_retention_secs: null }
    await engine.setPolicy({ queue: { ttl: { gc_horizon_secs: 90 }, completion } })
    const offer = await offered('a')
    await engine.complete({ ...holder(offer), digest: DIGEST })
    await clock.advance(60_000)
    expect((await engine.getJob(offer.jobId)).status).toBe('COMPLETED')
    await clock.advance(90_000)
    expect(await codeOf(engine.getJob(offer.jobId))).toBe('NotFound')
    expect((await engine.getResult(offer.jobId)).digest).toBe(DIGEST)
  })
})

describe('a log that fails', () => {
  const failing = (...fates: AppendFate[]): void => {
    store.fate = () => fates.shift() ?? 'ok'
  }

  it('LOOP-1: its callers hear StoreUnavailable, and nobody sees anything before the log has it', async () => {
    await withProvider()
    const events: EngineEvent[] = []
    await engine.onEvent((event) => events.push(event))
    failing('fails')
    const enqueued = engine.enqueue({ ...TASK, idempotency_key: 'a' }, { caller: ACME })
    expect(await codeOf(enqueued)).toBe('StoreUnavailable')
    await clock.settle()
    expect(events).toEqual([])
    expect(worker.offers).toEqual([])
    expect((await engine.listJobs()).jobs).toEqual([])

    const { jobId } = await offered('a')
    expect(events.map(({ type }) => type)).toEqual(['jobEnqueued', 'jobAssigned'])
    expect((await engine.listJobs()).jobs.map(({ id }) => id)).toEqual([jobId])
  })

  it('LOOP-1: if only the answer was lost, asking again under the same key finds the job', async () => {
    await withProvider()
    failing('answer lost')
    const request = { ...TASK, idempotency_key: 'a' }
    expect(await codeOf(engine.enqueue(request, { caller: ACME }))).toBe('StoreUnavailable')
    const jobId = await engine.enqueue(request, { caller: ACME })
    await clock.settle()
    expect((await engine.listJobs()).jobs.map(({ id }) => id)).toEqual([jobId])
    // An offer that was not acked is pushed again after an outage.
    expect(new Set(worker.offers.map((offer) => offer.jobId))).toEqual(new Set([jobId]))
  })

  it.each(['fails', 'answer lost'] as const)(
    'ENGINE-10, LOOP-1: an act whose append %s happens, with one entry, once the log is back',
    async (fate) => {
      await withProvider()
      failing(fate)
      expect(await codeOf(engine.stake(ATLAS, 7n))).toBe('StoreUnavailable')
      const actions = async () =>
        (await engine.view.read.journal(0, 100)).map(({ action }) => action)
      expect(await actions()).not.toContain('providerStaked')
      failing(fate)
      // The record of the stake is given again first, and this call is not applied.
      expect(await codeOf(engine.limiter.define(LIMIT))).toBe('StoreUnavailable')
      expect(await engine.limiter.get(LIMIT.key)).toBeNull()
      expect((await actions()).filter((action) => action === 'providerStaked')).toHaveLength(1)
      expect(await actions()).not.toContain('limitDefined')
      expect(await engine.stake(ATLAS, 1n)).toBe(8n)
    },
  )

  it('LOOP-1: it goes on when the log is back', async () => {
    await withProvider()
    failing('fails', 'fails', 'fails')
    for (let i = 0; i < 3; i++) {
      expect(await codeOf(engine.enqueue(TASK, { caller: ACME }))).toBe('StoreUnavailable')
    }
    const offer = await offered('a')
    await engine.complete({ ...holder(offer), digest: DIGEST })
    expect((await engine.getJob(offer.jobId)).status).toBe('COMPLETED')
    expect(brokenSeq(await engine.view.read.journal(0, 1_000))).toBeNull()
  })
})

describe('events', () => {
  it('ENGINE-2: a listener that throws harms neither the caller nor the others', async () => {
    await withProvider()
    const seen: EngineEvent[] = []
    const warned = new Promise((done) => process.once('warning', done))
    await engine.onEvent(() => {
      throw new Error('not my day')
    })
    await engine.onEvent((event) => seen.push(event))
    const jobId = await engine.enqueue(TASK, { caller: ACME })
    expect((await engine.getJob(jobId)).status).toBe('ASSIGNED')
    expect(seen.map(({ type }) => type)).toEqual(['jobEnqueued', 'jobAssigned'])
    expect(await warned).toMatchObject({ message: 'not my day' })
  })

  it('EVENT-1: a subscriber gets all after a seq and then those to come, without a gap', async () => {
    await withProvider()
    const offer = await offered('a')
    const seen: EngineEvent[] = []
    await engine.onEvent((event) => seen.push(event), 2)
    await engine.complete({ ...holder(offer), digest: DIGEST })
    expect(seen.map(({ seq, type }) => [seq, type])).toEqual([
      [3, 'jobEnqueued'],
      [4, 'jobAssigned'],
      [5, 'jobCompleted'],
    ])
    expect(seen[2]).toMatchObject({ jobId: offer.jobId, leaseId: offer.leaseId, digest: DIGEST })
  })

  it('ENGINE-3: every transition is in the chain, and the chain holds', async () => {
    await withProvider()
    const offer = await offered('a')
    await engine.fail({ ...holder(offer), code: 'oom', permanent: true })
    const rows = await engine.view.read.journal(0, 100)
    expect(rows.map(({ action }) => action)).toEqual([
      'providerRegistered',
      'workerConnected',
      'jobEnqueued',
      'jobAssigned',
      'leaseCancelled',
      'jobFailed',
    ])
    expect(rows[5]?.actor).toBe(ATLAS)
    expect(brokenSeq(rows)).toBeNull()
  })
})

describe('the acts of operators', () => {
  it('ENGINE-10: each is one entry of the batch that it changes, with who did it', async () => {
    await engine.registerProvider(ATLAS, OFFER, {}, { actor: 'token:a' })
    await engine.updateProvider(ATLAS, { leasesMax: 3 }, { actor: 'token:a' })
    await engine.stake(ATLAS, 7n, { actor: 'token:b' })
    await engine.stake(ATLAS, 2n ** 63n)
    const policy = { queue: { quotas: { leases_max_per_provider: 5 } } }
    await engine.setPolicy(policy)
    await engine.setPolicy(policy, 'queue', { actor: 'configuration' })
    expect(await codeOf(engine.setPolicy({ odd: 1 }))).toBe('InvalidParams')
    await engine.limiter.define(LIMIT, { actor: 'token:c' })
    const refusal = {
      type: 'accessRefused',
      by: '192.0.2.7',
      subject: 'policy.set',
      reason: 'forbidden',
      attempts: 3,
    } as const
    await engine.note(refusal)
    const rows = await engine.view.read.journal(0, 100)
    expect(rows.map(({ action, subject, actor }) => [action, subject, actor])).toEqual([
      ['providerRegistered', ATLAS, 'token:a'],
      ['providerUpdated', ATLAS, 'token:a'],
      ['providerStaked', ATLAS, 'token:b'],
      ['providerStaked', ATLAS, 'operator'],
      ['policyChanged', 'policy', 'operator'],
      ['policyChanged', 'policy', 'configuration'],
      ['limitDefined', LIMIT.key, 'token:c'],
      ['accessRefused', 'policy.set', 'engine'],
    ])
    expect(rows[3]?.details).toMatchObject({ amount: `${2n ** 63n}`, stake: `${2n ** 63n + 7n}` })
    expect(rows[5]?.details).toEqual(rows[4]?.details)
    const { type: _, ...details } = refusal
    expect(rows[7]?.details).toEqual(details)
    expect(brokenSeq(rows)).toBeNull()
  })
})

describe('the tokens of a server', () => {
  it('TOKEN-2: each change is one entry, also one that came while no engine ran', async () => {
    const token = (id: string, more: object = {}) => ({
      ...{ id, digest: `${id}1`, isRevoked: false, role: 'admin', holder: 'h', scope: '' },
      ...{ expiresAt: null, ...more },
    })
    const said = async () =>
      (await engine.view.read.journal(0, 100)).map(({ subject, details }) => [
        subject,
        details['change'],
      ])
    expect(engine.view.tokensSeen).toBe(false)
    await engine.noteTokens([])
    expect(engine.view.tokensSeen).toBe(false)
    await engine.noteTokens([token('a'), token('b')], { actor: 'tokens' })
    await engine.noteTokens([token('a'), token('b')])
    const first = [
      ['token:a', 'created'],
      ['token:b', 'created'],
    ]
    expect(await said()).toEqual(first)
    expect(engine.view.tokensSeen).toBe(true)
    await engine.close()
    engine = await openEngine({ store, clock })
    expect(engine.view.tokensSeen).toBe(true)
    const next = [token('a', { digest: 'a2', isRevoked: true }), token('c')]
    await engine.noteTokens(next)
    await engine.noteTokens([token('a', { digest: 'a3', isRevoked: true })])
    expect(await said()).toEqual([
      ...first,
      ['token:a', 'revoked'],
      ['token:c', 'created'],
      ['token:b', 'removed'],
      ['token:a', 'changed'],
      ['token:c', 'removed'],
    ])
    expect(await codeOf(engine.noteTokens([{ id: 1 }] as never))).toBe('InvalidParams')
  })
})

describe('old entries of the journal', () => {
  const KEEP = { journal: { keep_secs: 10, keep_entries: 2 } }
  const seqs = async () => (await engine.view.read.journal(0, 100)).map(({ seq }) => seq)

  it('AUDIT-8: go when an operator says so, as far as the policy lets go of them', async () => {
    await engine.setPolicy(KEEP)
    for (let i = 0; i < 4; i++) await engine.enqueue(TASK, { caller: ACME })
    const whole = await engine.view.read.journal(0, 100)
    // Too young, then as many as are kept in any case.
    await clock.advance(10_000)
    expect(await engine.pruneAudit(clock.now())).toMatchObject({ deleted: 0 })
    await clock.advance(1)
    expect(await engine.pruneAudit(START)).toMatchObject({ deleted: 0 })
    const { deleted, cut } = await engine.pruneAudit(clock.now(), { actor: 'token:a' })
    const last = whole.length - KEEP.journal.keep_entries
    const rest = await engine.view.read.journal(0, 100)
    expect(deleted).toBe(cut.seq)
    expect(cut.seq).toBeGreaterThanOrEqual(last)
    expect(rest[0]?.seq).toBe(cut.seq + 1)
    expect(rest.at(-1)).toMatchObject({
      action: 'auditPruned',
      actor: 'token:a',
      details: { subject: 'audit', last: cut.seq, hash: cut.hash },
    })
    expect(brokenSeq(rest, cut)).toBeNull()
    // Without what was kept of it, nobody could tell that the beginning is not the beginning.
    expect(brokenSeq(rest)).toBe(1)
    expect(await engine.pruneAudit(START)).toEqual({ deleted: 0, cut })
  })

  it('EVENT-4: who asks for what is gone gets EventsPruned and the oldest that is there', async () => {
    await engine.setPolicy(KEEP)
    const jobId = await engine.enqueue(TASK, { caller: ACME })
    for (let i = 0; i < 3; i++) await engine.enqueue(TASK, { caller: ACME })
    await clock.advance(20_000)
    const { cut } = await engine.pruneAudit(clock.now())
    await engine.close()
    engine = await openEngine({ store, clock })
    const asked: unknown = await engine.onEvent(() => {}, cut.seq - 1).catch((e: unknown) => e)
    expect(asked).toMatchObject({ code: 'EventsPruned', details: { oldest_seq: cut.seq + 1 } })
    const seen: EngineEvent[] = []
    await engine.onEvent((event) => seen.push(event), cut.seq)
    expect(seen.map(({ seq }) => seq)).toEqual(await seqs())
    expect((await engine.timeline(jobId)).every(({ seq }) => seq > cut.seq)).toBe(true)
  })

  it('AUDIT-8: nothing is gone before the log has the cut', async () => {
    await engine.setPolicy(KEEP)
    for (let i = 0; i < 4; i++) await engine.enqueue(TASK, { caller: ACME })
    await clock.advance(20_000)
    const before = await seqs()
    // The tick comes first and is stored.
    store.isHolding = true
    const pruned = engine.pruneAudit(clock.now())
    const cut = await store.underWay()
    expect(cut.commands.map(({ type }) => type)).toContain('cutJournal')
    store.isHolding = false
    cut.fail()
    expect(await codeOf(pruned)).toBe('StoreUnavailable')
    expect(await seqs()).toEqual(before)
    await clock.advance(250)
    expect((await seqs()).length).toBeLessThan(before.length)
    expect(brokenSeq(await engine.view.read.journal(0, 100), engine.view.journalCut)).toBeNull()
  })
})

describe('a restart', () => {
  it('ENGINE-4: leases survive, and the downtime is charged to nobody', async () => {
    await withProvider()
    const offer = await offered('a')
    await engine.ack(holder(offer))
    await engine.close()
    // An hour later: the lease of 600 s has lost nothing of its time.
    clock = new TestClock(START + 3_600_000)
    engine = await openEngine({ store, clock })
    expect((await engine.getJob(offer.jobId)).status).toBe('RUNNING')
    await ManualWorker.connect(engine, ATLAS, { holds: [offer.leaseId] })
    await clock.advance(599_999)
    expect(await engine.getJob(offer.jobId)).toMatchObject({ status: 'RUNNING', retries: 0 })
    await engine.complete({ ...holder(offer), digest: DIGEST })
    expect((await engine.getJob(offer.jobId)).status).toBe('COMPLETED')
  })

  it('ENGINE-9: what came with a job is stored with it and goes to its worker', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const first = await engine.enqueue(TASK, { caller: ACME })
    const origin = { retryOf: first, traceparent }
    const jobId = await engine.enqueue(TASK, { caller: ACME }, origin)
    await engine.cancel(first, ACME)
    await engine.close()
    engine = await openEngine({ store, clock })
    expect((await engine.getJob(jobId)).origin).toEqual(origin)
    expect((await engine.getJob(first)).origin).toBeNull()
    expect((await engine.timeline(jobId))[0]?.details).toEqual(origin)
    await withProvider()
    await clock.settle()
    expect(worker.offered).toMatchObject({ jobId, traceparent })
  })

  it('ENGINE-6: a store from the future is refused, a little lag is not', async () => {
    await engine.enqueue(TASK, { caller: ACME })
    const early = openEngine({ store, clock: new TestClock(START - 60_001) })
    expect(await codeOf(early)).toBe('StoreUnavailable')
    const late = await openEngine({ store, clock: new TestClock(START - 60_000) })
    expect(late.stats().waiting['task']).toBe(1)
    await late.close()
  })
})
