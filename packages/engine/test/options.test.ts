import type { JobId } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { decodeBatch, encodeBatch } from '../src/log/batch.ts'
import { ACME, ATLAS, DIGEST, Rig, START } from './rig.ts'

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

let keys = 0
/** A task with these options. */
function enqueue(options: object, key = `k-${++keys}`): Promise<JobId> {
  const request = { kind: 'task', payload: { name: 'mail', args: {} }, idempotency_key: key }
  return rig.engine.enqueue({ ...request, ...options }, { caller: ACME })
}

async function waitReasonOf(id: JobId): Promise<string | null> {
  await rig.clock.settle()
  return rig.engine.view.waitReason(id)
}

async function complete(id: JobId): Promise<void> {
  const worker = await rig.connect()
  await rig.clock.settle()
  const offer = [...worker.offers].find(({ jobId }) => jobId === id)
  if (offer === undefined) throw new Error('it was not offered')
  await rig.engine.complete({ leaseId: offer.leaseId, by: ATLAS, digest: DIGEST })
  await worker.session.close()
  await rig.clock.settle()
}

describe('the options of a job, in an engine', () => {
  it('OPTIONS-1: they are in its row, after a restart too', async () => {
    const first = await enqueue({})
    const backoff = { base_ms: 5, factor_permille: 1_000, cap_ms: 5, jitter_permille: 0 }
    const id = await enqueue({
      delay_ms: 60_000,
      attempts: 2,
      backoff,
      timeout_ms: 5_000,
      priority: -7,
      tags: ['a', 'b'],
      dedupe_key: 'd',
      depends_on: [first],
      on_dependency: 'run',
    })
    const options = {
      runAt: START + 60_000,
      attempts: 2,
      backoff: { baseMs: 5, factorPermille: 1_000, capMs: 5, jitterPermille: 0 },
      timeoutMs: 5_000,
      priority: -7,
      tags: ['a', 'b'],
      dedupeKey: 'd',
      dependsOn: [first],
      onDependency: 'run',
    }
    expect(await rig.engine.getJob(id)).toMatchObject({ options })
    await rig.restart(1_000)
    expect(await rig.engine.getJob(id)).toMatchObject({ options })
    expect(await waitReasonOf(id)).toBe('scheduled')
  })

  it('OPTIONS-2: a job fires at its time, also after a restart', async () => {
    const id = await enqueue({ delay_ms: 60_000 })
    await rig.restart(10_000)
    const worker = await rig.connect()
    await rig.clock.advance(START + 59_999 - rig.clock.now())
    expect(worker.offers).toEqual([])
    await rig.clock.advance(1)
    expect(worker.offered.jobId).toBe(id)
  })

  it('OPTIONS-5: an attempt that takes too long is lost to its worker, with the reason timeout', async () => {
    const id = await enqueue({ timeout_ms: 2_000 })
    const worker = await rig.connect()
    await rig.clock.settle()
    await rig.ack(worker.offered).done
    await rig.clock.advance(2_000)
    expect(worker.lostLeases).toEqual([[worker.offers[0]?.leaseId, 'timeout']])
    const [failure] = await rig.engine.failures(id)
    expect(failure?.code).toBe('timeout')
    const { attempts } = await rig.engine.explain(id)
    expect(attempts[0]?.ended?.reason).toBe('timeout')
  })

  it('OPTIONS-5: the time of a timeout does not count while nobody can reach the engine', async () => {
    const id = await enqueue({ timeout_ms: 5_000 })
    const worker = await rig.connect()
    await rig.clock.settle()
    const { leaseId } = worker.offered
    await rig.ack(worker.offered).done
    await rig.restart(60_000)
    const back = await rig.connect('w-1', { holds: [leaseId] })
    await rig.clock.advance(4_000)
    expect((await rig.engine.getJob(id)).status).toBe('RUNNING')
    await rig.clock.advance(1_000)
    expect(back.lostLeases).toEqual([[leaseId, 'timeout']])
  })

  it('OPTIONS-7: a live job with the key is the answer, and the key of the repeat is forgotten', async () => {
    const id = await enqueue({ dedupe_key: 'd' }, 'one')
    const request = { kind: 'task', payload: { name: 'mail', args: { n: 1 } } }
    const again = { ...request, dedupe_key: 'd', idempotency_key: 'two' }
    expect(await rig.engine.accept(again, { caller: ACME })).toEqual({
      jobId: id,
      isDuplicate: true,
    })
    await rig.restart(0)
    expect(await rig.engine.accept(again, { caller: ACME })).toEqual({
      jobId: id,
      isDuplicate: true,
    })
    await rig.cancel(id).done
    const { jobId, isDuplicate } = await rig.engine.accept(again, { caller: ACME })
    expect(isDuplicate).toBe(false)
    expect(jobId).not.toBe(id)
    // The idempotency key comes first: it names a job that has ended.
    expect(await enqueue({ dedupe_key: 'd' }, 'one')).toBe(id)
  })
})

describe('dependencies, in an engine', () => {
  it('OPTIONS-8: a job waits across a restart, and runs after the last', async () => {
    const [one, two] = [await enqueue({}), await enqueue({})]
    const id = await enqueue({ depends_on: [one, two] })
    await rig.restart(1_000)
    expect(await waitReasonOf(id)).toBe('dependencies')
    expect((await rig.engine.explain(id)).job.id).toBe(id)
    await complete(one)
    await rig.restart(1_000)
    expect(await waitReasonOf(id)).toBe('dependencies')
    await complete(two)
    expect((await rig.engine.getJob(id)).releasedAt).not.toBeNull()
    await complete(id)
    expect((await rig.engine.getJob(id)).status).toBe('COMPLETED')
  })

  it('OPTIONS-8: how a job ended that memory has forgotten is looked up, and recorded', async () => {
    const [done, gone] = [await enqueue({}), await enqueue({})]
    await complete(done)
    await rig.cancel(gone).done
    await rig.restart(1_000)
    const after = await enqueue({ depends_on: [done] })
    const broken = await enqueue({ depends_on: [done, gone] })
    const unknown = await enqueue({ depends_on: [`0x${'77'.repeat(32)}`] })
    expect((await rig.engine.getJob(after)).status).toBe('QUEUED')
    for (const id of [broken, unknown]) {
      expect(await rig.engine.getJob(id)).toMatchObject({
        status: 'CANCELED',
        reason: 'dependency_failed',
      })
    }
    await rig.crash()
    expect((await rig.engine.getJob(after)).status).toBe('QUEUED')
  })

  it('OPTIONS-8: a cascade of many goes on in commands of 250, and after a crash', async () => {
    const first = await enqueue({})
    const request = { kind: 'task', payload: { name: 'mail', args: {} }, depends_on: [first] }
    const many = Array.from({ length: 600 }, (_, n) => ({ ...request, idempotency_key: `m-${n}` }))
    await rig.engine.enqueueMany(many, { caller: ACME })
    await rig.cancel(first).done
    await rig.crash()
    await rig.clock.advance(1_000)
    let canceled = 0
    const { jobs } = await rig.engine.listJobs({ status: 'CANCELED', limit: 1_000 })
    for (const { reason } of jobs) if (reason === 'dependency_failed') canceled++
    expect(canceled).toBe(600)
  })

  it('OPTIONS-8: a job that was there before its id is named again is no dependency', async () => {
    // Nobody has this id yet; with run the job does not wait for it.
    const key = 'later'
    const probe = await Rig.open()
    const request = { kind: 'task', payload: { name: 'mail', args: {} }, idempotency_key: key }
    const id = await probe.engine.enqueue(request, { caller: ACME })
    await probe.close()
    const early = await enqueue({ depends_on: [id], on_dependency: 'run' })
    expect(await enqueue({}, key)).toBe(id)
    await rig.restart(0)
    expect(await waitReasonOf(early)).toBe('no_provider')
  })
})

describe('finding jobs', () => {
  it('OPTIONS-11: lists filter by tag, keys, error, time and wait reason', async () => {
    const tagged = await enqueue({ tags: ['red', 'blue'] }, 'idem')
    const keyed = await enqueue({ dedupe_key: 'say "x"' })
    await rig.clock.advance(5_000)
    const late = await enqueue({ delay_ms: 60_000 })
    const held = await enqueue({ depends_on: [keyed] })
    const found = async (filter: object) =>
      (await rig.engine.listJobs(filter)).jobs.map(({ id }) => id)
    expect(await found({ tag: 'blue' })).toEqual([tagged])
    expect(await found({ tag: 'green' })).toEqual([])
    expect(await found({ dedupeKey: 'say "x"' })).toEqual([keyed])
    const { txHash } = await rig.engine.getJob(tagged)
    expect(await found({ txHash, caller: ACME })).toEqual([tagged])
    expect(await found({ txHash })).toEqual([tagged])
    expect(await found({ since: START + 5_000 })).toEqual([late, held])
    expect(await found({ until: START + 5_000 })).toEqual([tagged, keyed])
    expect(await found({ waitReason: 'scheduled' })).toEqual([late])
    expect(await found({ waitReason: 'dependencies' })).toEqual([held])
    expect(await found({ waitReason: 'no_provider', limit: 1 })).toEqual([tagged])
    expect(await found({ waitReason: 'no_provider', order: 'newest' })).toEqual([keyed, tagged])
    const worker = await rig.connect()
    await rig.clock.settle()
    const [offer] = worker.offers
    if (offer === undefined) throw new Error('there is work')
    await rig.engine.fail({ leaseId: offer.leaseId, by: ATLAS, code: 'oom', permanent: true })
    expect(await found({ error: 'oom' })).toEqual([offer.jobId])
    await expect(found({ waitReason: 'ready', status: 'FAILED' })).rejects.toMatchObject({
      code: 'InvalidParams',
    })
  })

  it('OPTIONS-11: a page by wait reason goes on where the one before ended', async () => {
    for (let n = 0; n < 5; n++) await enqueue({ delay_ms: n % 2 === 0 ? 60_000 : 0 })
    const seen: JobId[] = []
    let cursor: number | null = 0
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof rig.engine.listJobs>> = await rig.engine.listJobs({
        waitReason: 'scheduled',
        limit: 1,
        cursor,
      })
      seen.push(...page.jobs.map(({ id }) => id))
      cursor = page.cursor
    }
    expect(seen).toHaveLength(3)
    expect(new Set(seen).size).toBe(3)
  })
})

it('COMMAND-2: a log without options is written as it always was', () => {
  const request = {
    kind: 'task',
    jobId: `0x${'11'.repeat(32)}`,
    caller: ACME,
    txHash: `0x${'22'.repeat(32)}`,
    chainId: 1n,
    enqueueHeight: 2n,
    payloadCbor: Uint8Array.of(0xa0),
    sizeBytes: 1,
    demand: { model: 'm', shots: 0, depthHint: 0, units: 1, tokens: 0 },
    maxFee: 0n,
    regions: null,
    needs: null,
    ttlAbsSecs: null,
    options: null,
  } as const
  const command = {
    type: 'enqueue',
    request,
    tier: 'FREE',
    origin: null,
    session: null,
    completed: null,
  } as never
  const record = encodeBatch({ entries: [{ command, at: START }], digest: 7 })
  // Format 1, digest, one command, its time in six bytes, and its number.
  expect([record[0], record[1], record[2], record[9]]).toEqual([1, 7, 1, 1])
  expect(decodeBatch(record).entries[0]?.command).toEqual(command)
})
