import { type CborMap, decodeCbor, encodeCbor, type JobId, type LeaseFailure } from '@fairlead/core'
import { FAILURES_KEPT } from '@fairlead/core/internal'
import { explanationText } from '@fairlead/engine'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ManualWorker } from './manual-worker.ts'
import { ACME, ATLAS, Rig } from './rig.ts'

const HOUR_MS = 3_600_000

let rig: Rig
let worker: ManualWorker

beforeEach(async () => {
  rig = await Rig.open()
  worker = await rig.connect('w-1', { slots: 4 })
})
afterEach(() => rig.close())

async function enqueue(name: string): Promise<JobId> {
  const request = { kind: 'task', payload: { name, args: {} } }
  const jobId = await rig.engine.enqueue(request, { caller: ACME })
  await rig.clock.settle()
  return jobId
}

/** Moves the clock to the end of a job's backoff. */
async function untilReady(jobId: JobId): Promise<void> {
  const { notBefore } = await rig.engine.getJob(jobId)
  await rig.clock.advance((notBefore ?? 0) - rig.clock.now())
}

/** Takes the newest offer on and fails it. */
async function fail(failure: Partial<LeaseFailure> = {}): Promise<void> {
  const { leaseId } = worker.offered
  await worker.session.ack(leaseId)
  await worker.session.fail(leaseId, { code: 'error', permanent: false, ...failure })
  await rig.clock.settle()
}

describe('a failing job', () => {
  it('HEALTH-7: fails alone: whatever fails, a job that would succeed runs at once', async () => {
    for (let i = 0; i < 40; i++) {
      await enqueue('report')
      await fail({ permanent: i % 2 === 0 })
    }
    const jobId = await enqueue('email')
    const { leaseId, jobId: offered } = worker.offered
    expect(offered).toBe(jobId)
    await worker.session.complete(leaseId, { output: Buffer.from('sent') })
    expect((await rig.engine.getJob(jobId)).status).toBe('COMPLETED')
    const provider = rig.engine.view.provider(ATLAS)
    expect(provider).toMatchObject({ status: 'ACTIVE', health: 1_000, cooldownUntil: null })
  })

  it('HEALTH-7: a provider without workers for an hour goes on when one is back, without a word of anybody', async () => {
    await worker.session.close()
    const jobId = await enqueue('email')
    await rig.clock.advance(HOUR_MS)
    expect(rig.engine.view.provider(ATLAS)?.status).toBe('ACTIVE')
    const back = await rig.connect('w-2')
    await rig.clock.settle()
    expect(back.offered.jobId).toBe(jobId)
    expect(back.notices.at(-1)).toBeNull()
  })

  it('TTL-1: in the preset queue a task lives until it is done', async () => {
    await worker.session.close()
    const jobId = await enqueue('email')
    await rig.restart(60 * 24 * HOUR_MS)
    expect((await rig.engine.getJob(jobId)).status).toBe('QUEUED')
    const next = await rig.connect('w-2')
    await rig.clock.settle()
    const { leaseId } = next.offered
    await rig.engine.fail({ leaseId, by: ATLAS, code: 'error', permanent: false })
    await rig.restart(60 * 24 * HOUR_MS)
    expect((await rig.engine.getJob(jobId)).status).toBe('QUEUED')
  })

  it('LEASE-5: in the preset queue a lease lives as long as its worker renews it', async () => {
    await enqueue('video')
    const { leaseId, renewalsMax } = worker.offered
    expect(renewalsMax).toBeNull()
    await worker.session.ack(leaseId)
    for (let i = 0; i < 30; i++) {
      await rig.clock.advance(300_000)
      await worker.session.renew(leaseId)
    }
    await worker.session.complete(leaseId, {})
  })
})

describe('what is said of a failure', () => {
  it('FAIL-1: code, message and details are kept and read', async () => {
    const jobId = await enqueue('report')
    const details = encodeCbor({ stack: 'Error: no such table\n  at line 3' })
    await fail({ code: 'db_error', message: 'no such table: users', details })
    const [failure] = await rig.engine.failures(jobId)
    expect(failure).toMatchObject({ attempt: 0, code: 'db_error', message: 'no such table: users' })
    expect((decodeCbor(failure?.details ?? new Uint8Array()) as CborMap)['stack']).toContain(
      'line 3',
    )
  })

  it('FAIL-1: the audit log has the code and nothing else of it', async () => {
    const jobId = await enqueue('report')
    await fail({ code: 'db_error', message: 'secret of a customer' })
    const timeline = await rig.engine.timeline(jobId)
    const cancelled = timeline.find(({ action }) => action === 'leaseCancelled')
    expect(cancelled?.details).toMatchObject({ reason: 'provider_fail', code: 'db_error' })
    expect(JSON.stringify(timeline)).not.toContain('secret')
  })

  it('FAIL-1: so is what the engine itself says of an attempt that ended without a word', async () => {
    const jobId = await enqueue('report')
    await rig.clock.advance(5_000)
    await untilReady(jobId)
    await worker.session.ack(worker.offered.leaseId)
    await rig.clock.advance(600_000)
    const failures = await rig.engine.failures(jobId)
    expect(failures.map(({ code }) => code)).toEqual(['ack_timeout', 'lease_expired'])
  })

  it('FAIL-3: for the last ten attempts of a job', async () => {
    await rig.engine.setPolicy({ queue: { retries: { attempt_max: 100 } } })
    const jobId = await enqueue('report')
    for (let i = 0; i < FAILURES_KEPT + 3; i++) {
      await fail({ message: `attempt ${i}` })
      await untilReady(jobId)
    }
    const failures = await rig.engine.failures(jobId)
    expect(failures.map(({ attempt }) => attempt)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  })

  it('FAIL-4: retry_after_ms holds a job back for longer than its backoff, a day at most', async () => {
    const jobId = await enqueue('report')
    await fail({ retryAfterMs: 120_000 })
    const failedAt = rig.clock.now()
    expect((await rig.engine.getJob(jobId)).notBefore).toBe(failedAt + 120_000)
    await untilReady(jobId)
    await fail({ retryAfterMs: 90 * 24 * HOUR_MS })
    expect((await rig.engine.getJob(jobId)).notBefore).toBe(rig.clock.now() + 24 * HOUR_MS)
    await rig.restart(24 * HOUR_MS)
    worker = await rig.connect('w-2')
    await rig.clock.settle()
    await fail({ retryAfterMs: 1 })
    // Its third backoff: 20 s, give or take a tenth.
    expect((await rig.engine.getJob(jobId)).notBefore).toBeGreaterThan(rig.clock.now() + 17_000)
  })
})

describe('explain', () => {
  it('EXPLAIN-10: a job that waits again shows how its earlier attempts went', async () => {
    const jobId = await enqueue('report')
    await fail({ code: 'db_error', message: 'no such table' })
    const explanation = await rig.engine.explain(jobId)
    expect(explanation).toMatchObject({
      waitReason: 'backoff',
      attempts: [
        { ended: { reason: 'provider_fail', code: 'db_error', message: 'no such table' } },
      ],
    })
    const text = explanationText(explanation)
    expect(text).toContain('Attempt 0: given to provider:atlas')
    expect(text).toContain('failed with db_error: "no such table"')
  })

  it('EXPLAIN-10: a decline is explained as a decline', async () => {
    const jobId = await enqueue('report')
    await worker.session.decline(worker.offered.leaseId)
    await rig.clock.settle()
    const explanation = await rig.engine.explain(jobId)
    expect(explanation.attempts[0]?.ended?.reason).toBe('declined')
    const text = explanationText(explanation)
    expect(text).toContain('was declined')
    expect(text).toContain('denied_for_job – it declined this job, until')
  })

  it('EXPLAIN-10: it names the status of a provider and what to do about it', async () => {
    await rig.engine.setProviderStatus(ATLAS, 'SUSPENDED')
    const jobId = await enqueue('report')
    const explanation = await rig.engine.explain(jobId)
    expect(explanation).toMatchObject({ waitReason: 'no_provider', earliestAt: null })
    expect(explanationText(explanation)).toContain(
      'it is SUSPENDED. An operator brings it back with: fairlead providers set-status provider:atlas ACTIVE',
    )
  })

  it('EXPLAIN-2: the earliest time waits for the health that a provider has to earn back', async () => {
    await rig.engine.setPolicy({}, 'fund')
    await worker.session.setSlots(8)
    for (let i = 0; i < 5; i++) await enqueue('report')
    for (const { leaseId } of worker.offers) {
      await worker.session.fail(leaseId, { code: 'error', permanent: true })
    }
    // Past the cooldown.
    await rig.clock.advance(150_000)
    await rig.engine.heartbeat(ATLAS)
    const jobId = await enqueue('late')
    const explanation = await rig.engine.explain(jobId)
    const missing = 600 - (rig.engine.view.provider(ATLAS)?.health ?? 0)
    expect(missing).toBe(90)
    if (!('providers' in explanation)) throw new Error('it waits')
    expect(explanation.providers[0]?.refusal).toBe('unhealthy')
    // Nine heartbeats, one a minute.
    expect(explanation.earliestAt).toBe(rig.clock.now() + 9 * 60_000)
  })
})

describe('a job that kills its worker', () => {
  async function lose(name: string): Promise<void> {
    const killed = await rig.connect(name)
    await rig.clock.settle()
    await killed.session.ack(killed.offered.leaseId)
    await killed.session.close()
    await rig.clock.advance(15_000)
  }

  it('WORKER-16: waits for its backoff, uncharged; the third loss in a row ends it', async () => {
    await worker.session.close()
    const jobId = await enqueue('poison')
    await lose('w-a')
    const lostAt = rig.clock.now()
    const row = await rig.engine.getJob(jobId)
    expect(row).toMatchObject({ status: 'QUEUED', retries: 0, workerLosses: 1 })
    expect(row.notBefore).toBeGreaterThan(lostAt)
    await rig.clock.advance(60_000)
    await lose('w-b')
    await rig.clock.advance(60_000)
    await lose('w-c')
    expect(await rig.engine.getJob(jobId)).toMatchObject({
      status: 'FAILED',
      reason: 'worker_lost',
      retries: 0,
    })
    const failures = await rig.engine.failures(jobId)
    expect(failures.map(({ code }) => code)).toEqual(['worker_lost', 'worker_lost', 'worker_lost'])
  })

  it('WORKER-16: the run of losses survives a restart, and another end of an attempt ends it', async () => {
    await worker.session.close()
    const jobId = await enqueue('poison')
    await lose('w-a')
    await rig.clock.advance(60_000)
    await lose('w-b')
    expect((await rig.engine.getJob(jobId)).workerLosses).toBe(2)
    await rig.clock.advance(60_000)
    worker = await rig.connect('w-d')
    await rig.clock.settle()
    await fail()
    expect((await rig.engine.getJob(jobId)).workerLosses).toBe(0)
  })
})

describe('results', () => {
  /** So many days, and the minute after which old jobs are looked through. */
  async function later(days: number): Promise<void> {
    await rig.restart(days * 24 * HOUR_MS)
    await rig.clock.advance(61_000)
    worker = await rig.connect('w-1')
  }

  it('COMPLETE-3: a result knows what its bytes are and whose they are', async () => {
    const jobId = await enqueue('report')
    const output = Buffer.from('{"answer":42}')
    await worker.session.complete(worker.offered.leaseId, {
      output,
      contentType: 'application/json',
    })
    expect(await rig.engine.getResult(jobId)).toMatchObject({
      contentType: 'application/json',
      caller: ACME,
    })
  })

  it('FAIL-1: the error in place of a result says why there is none', async () => {
    const jobId = await enqueue('report')
    await fail({ code: 'db_error', message: 'no such table', permanent: true })
    const refused = rig.engine.getResult(jobId)
    await expect(refused).rejects.toMatchObject({
      code: 'InvalidState',
      details: { reason: 'permanent_error', last_error: { code: 'db_error', attempt: 0 } },
    })
    await expect(refused).rejects.toThrow(
      /\(permanent_error\) and has no result; db_error: no such table$/,
    )
  })

  it('ENGINE-8: with neither output nor digest there is no output', async () => {
    const jobId = await enqueue('report')
    await worker.session.complete(worker.offered.leaseId, {})
    expect(await rig.engine.getResult(jobId)).toMatchObject({ output: null, contentType: null })
  })

  it('ENGINE-8: a content type of more than 128 bytes is refused, and the lease goes on', async () => {
    await enqueue('report')
    const { leaseId } = worker.offered
    const refused = worker.session.complete(leaseId, {
      output: new Uint8Array(),
      contentType: 'x'.repeat(129),
    })
    await expect(refused).rejects.toMatchObject({ code: 'LimitExceeded' })
    await worker.session.complete(leaseId, { output: new Uint8Array() })
  })

  it('STATE-9: a completion without an ack counts as acked', async () => {
    const jobId = await enqueue('report')
    await worker.session.complete(worker.offered.leaseId, {})
    const [lease] = await rig.engine.view.read.leases(jobId)
    expect(lease).toMatchObject({ status: 'COMPLETED', isAcked: true })
  })

  it('TTL-3: in the preset queue a result goes with its job, or as late as the policy says', async () => {
    const jobId = await enqueue('report')
    await worker.session.complete(worker.offered.leaseId, { output: Buffer.from('x') })
    await later(8)
    await expect(rig.engine.getResult(jobId)).rejects.toMatchObject({ code: 'NotFound' })

    const policy = { queue: { completion: { result_retention_secs: 14 * 86_400 } } }
    await rig.engine.setPolicy(policy)
    const kept = await enqueue('report')
    await worker.session.complete(worker.offered.leaseId, { output: Buffer.from('x') })
    await later(8)
    await expect(rig.engine.getJob(kept)).rejects.toMatchObject({ code: 'NotFound' })
    expect(await rig.engine.getResult(kept)).toMatchObject({ caller: ACME })
    await later(7)
    await expect(rig.engine.getResult(kept)).rejects.toMatchObject({ code: 'NotFound' })
  })
})

it('ENGINE-13: a job can be given to JSON.stringify, with amounts as the wire has them', async () => {
  const request = {
    kind: 'task',
    payload: { name: 'n', args: {} },
    max_fee_u64: '18446744073709551615',
  }
  const jobId = await rig.engine.enqueue(request, { caller: ACME })
  const written = JSON.parse(JSON.stringify(await rig.engine.getJob(jobId))) as object
  expect(written).toMatchObject({ id: jobId, fee: '18446744073709551615', chainId: 1 })
  const { jobs } = await rig.engine.listJobs()
  expect(JSON.parse(JSON.stringify(jobs))).toMatchObject([{ id: jobId }])
})
