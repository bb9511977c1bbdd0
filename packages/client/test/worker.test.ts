import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerOf, decodeCbor, FairleadError } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  Completion,
  type Job,
  PermanentFailure,
  type StandardSchema,
  worker,
} from '../src/index.ts'
import { ATLAS, allEnded, Gates, Rig, START } from './rig.ts'

let rig: Rig
let gates: Gates

beforeEach(async () => {
  rig = await Rig.open()
  gates = new Gates()
})

describe('a job', () => {
  it('WORKER-8: is acked while its handler runs, and completed with what it returns', async () => {
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    expect(gates.jobs).toMatchObject([
      { kind: 'task', model: 'resize', payload: { name: 'resize', args: { n: 1 } } },
    ])
    expect(await rig.status(jobId)).toBe('RUNNING')
    gates.finish(0, Buffer.from('done'))
    await rig.settle()
    expect(await rig.status(jobId)).toBe('COMPLETED')
    expect(Buffer.from((await rig.engine.getResult(jobId)).output ?? []).toString()).toBe('done')
    expect(await rig.story(jobId)).toEqual([
      'jobEnqueued',
      'jobAssigned',
      'jobStarted',
      'jobCompleted',
    ])
  })

  it('WORKER-8: needs no ack if its outcome is there before the ack would go out', async () => {
    await rig.worker(() => 'at once')
    const jobId = await rig.enqueue()
    expect(await rig.story(jobId)).toEqual(['jobEnqueued', 'jobAssigned', 'jobCompleted'])
  })

  it('WORKER-14: may ask whether its lease is still its own', async () => {
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    const [job] = gates.jobs as [Job]
    await job.confirm()
    await rig.engine.cancel(jobId, 'operator')
    await expect(job.confirm()).rejects.toMatchObject({ code: 'LeaseNotLive' })
  })

  it('WORKER-14: asks by an ack before there was one', async () => {
    await rig.worker(async (job) => {
      await job.confirm()
      return 'mine'
    })
    const jobId = await rig.enqueue()
    expect(await rig.story(jobId)).toEqual([
      'jobEnqueued',
      'jobAssigned',
      'jobStarted',
      'jobCompleted',
    ])
  })

  it('WORKER-8: may have a digest only, units and words about the result, or no result', async () => {
    const digest = `0x${'d'.repeat(64)}`
    const results = [new Completion({ digest, actualUnits: 7, meta: { took: 3 } }), undefined]
    await rig.worker(() => results.shift())
    const [first, second] = [await rig.enqueue(), await rig.enqueue()]
    const { meta, ...rest } = await rig.engine.getResult(first)
    expect(rest).toMatchObject({ digest, units: 7, output: null })
    expect(decodeCbor(meta ?? new Uint8Array())).toEqual({ took: 3 })
    expect(await rig.engine.getResult(second)).toMatchObject({ output: null, meta: null })
  })

  it('WORKER-8: may return text, which is kept as UTF-8', async () => {
    await rig.worker(() => 'grüß dich')
    expect(await rig.output(await rig.enqueue())).toBe('grüß dich')
  })

  it('WORKER-8: with a schema a result that does not fit is a failure, and the job is tried again', async () => {
    const answers: unknown[] = [{ total: 'none' }, { total: 3 }]
    await rig.schemaWorker(totalSchema, () => answers.shift() as { total: number })
    const jobId = await rig.enqueue()
    expect(await rig.story(jobId)).toContain('jobRequeued PROVIDER_FAIL')
    expect(String(rig.errors[0])).toContain('total: expected a number')
    await rig.clock.advance(10_000)
    await rig.settle()
    expect(await rig.output(jobId)).toBe('{"total":3}')
  })

  it('WORKER-13: can be declined before it is acked, and goes to another provider', async () => {
    const seen: string[] = []
    const accepts = (job: Job) => {
      seen.push(job.jobId)
      return false
    }
    await rig.worker(() => 'never', { accepts })
    const jobId = await rig.enqueue()
    expect(seen).toEqual([jobId])
    expect(await rig.story(jobId)).toEqual([
      'jobEnqueued',
      'jobAssigned',
      'leaseCancelled declined',
      'jobRequeued DECLINED',
    ])
    await rig.worker(() => 'here', { providerId: 'provider:borea' })
    await rig.settle()
    expect(await rig.output(jobId)).toBe('here')
    expect((await rig.engine.getJob(jobId)).retries).toBe(0)
  })

  it('WORKER-13: is declined if looking at it throws', async () => {
    const accepts = () => {
      throw new Error('cannot say')
    }
    await rig.worker(() => 'never', { accepts })
    const jobId = await rig.enqueue()
    expect(await rig.story(jobId)).toContain('jobRequeued DECLINED')
    expect(String(rig.errors[0])).toContain('cannot say')
  })

  it.each([
    [new Error('not my day'), 'jobRequeued PROVIDER_FAIL', 'QUEUED'],
    [Object.assign(new Error('no memory'), { code: 'oom' }), 'jobRequeued PROVIDER_FAIL', 'QUEUED'],
    [new PermanentFailure('invalid_input'), 'jobFailed permanent_error', 'FAILED'],
  ])('WORKER-8: that throws %s is failed: %s', async (error, story, status) => {
    await rig.worker(() => {
      throw error
    })
    const jobId = await rig.enqueue()
    expect((await rig.story(jobId)).at(-1)).toBe(story)
    expect(await rig.status(jobId)).toBe(status)
    expect(rig.errors).toEqual([error])
  })

  it('WORKER-8: whose result is refused is failed, so that its lease is not held for nothing', async () => {
    await rig.engine.setPolicy({ queue: { completion: { output_max_bytes: 2 } } })
    await rig.worker(() => Buffer.from('three'))
    const jobId = await rig.enqueue()
    expect((await rig.story(jobId)).at(-1)).toBe('jobRequeued PROVIDER_FAIL')
    expect(rig.errors).toMatchObject([{ code: 'LimitExceeded' }])
  })

  it('WORKER-8: runs beside others, as many as the worker says and no more', async () => {
    await rig.worker(gates.handler, { concurrency: 2 })
    const jobs = await rig.enqueueMany(3)
    expect(gates.jobs).toHaveLength(2)
    gates.finish(0)
    await rig.settle()
    expect(gates.jobs).toHaveLength(3)
    gates.finish(1)
    gates.finish(2)
    await rig.settle()
    expect(await Promise.all(jobs.map((jobId) => rig.status(jobId)))).toEqual(
      Array(3).fill('COMPLETED'),
    )
  })

  it('WORKER-8: waits its turn behind a handler that does not heed its signal', async () => {
    await rig.worker(gates.handler, { concurrency: 1 })
    const first = await rig.enqueue()
    await rig.engine.cancel(first, 'operator')
    const second = await rig.enqueue()
    expect(gates.jobs[0]?.signal.aborted).toBe(true)
    expect([gates.jobs.length, await rig.status(second)]).toEqual([1, 'ASSIGNED'])
    gates.finish(0)
    await rig.settle()
    expect([gates.jobs.length, await rig.status(second)]).toEqual([2, 'RUNNING'])
  })
})

describe('a provider', () => {
  it('WORKER-9: is registered by its first worker, and offers what the next one says', async () => {
    await rig.worker(gates.handler)
    expect(await rig.providers()).toMatchObject([
      { id: ATLAS, capabilities: ['task'], models: ['*'] },
    ])
    await rig.worker(gates.handler, { kinds: ['ai', 'task'], models: ['m'] })
    expect(await rig.providers()).toMatchObject([{ capabilities: ['ai', 'task'], models: ['m'] }])
  })

  it('WORKER-9: stays in service while a worker is there, because the worker says that it is', async () => {
    await rig.worker(() => undefined)
    await rig.clock.advance(3_600_000)
    expect(await rig.status(await rig.enqueue())).toBe('COMPLETED')
    expect(await rig.providers()).toMatchObject([{ health: 1_000, silentSteps: 0 }])
  })
})

describe('renewal', () => {
  const renewedAt = () =>
    rig.events.filter(({ type }) => type === 'leaseRenewed').map(({ at }) => (at - START) / 1_000)

  it('WORKER-8: goes on for as long as the handler runs, where the policy sets no limit', async () => {
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    await rig.clock.advance(6 * 3_600_000)
    expect(renewedAt().length).toBeGreaterThan(60)
    expect(gates.jobs[0]?.signal.aborted).toBe(false)
    gates.finish(0, Buffer.from('at last'))
    await rig.settle()
    expect([await rig.status(jobId), gates.jobs.length]).toEqual(['COMPLETED', 1])
  })

  it('WORKER-8: comes before renew_by, and stops when no more are granted', async () => {
    rig = await Rig.open({ queue: { lease: { renewals_max: 4 } } })
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    // T 600 s: due at 360 s, a tenth earlier; each adds 300 s.
    await rig.clock.advance(1_780_000)
    expect(renewedAt()).toEqual([324, 626.4, 926.64, 1_226.664])
    expect(gates.jobs[0]?.signal.aborted).toBe(false)
    expect(await rig.status(jobId)).toBe('RUNNING')
    expect(await rig.providers()).toMatchObject([{ health: 1_000 }])

    await rig.clock.advance(20_000)
    expect(gates.jobs[0]?.signal.reason).toMatchObject({ code: 'LeaseNotLive' })
    expect((await rig.story(jobId)).at(-1)).toBe('jobRequeued LEASE_EXPIRED')
    expect(rig.errors).toEqual([])
  })

  it('WORKER-8: is tried again when the store did not take it', async () => {
    await rig.worker(gates.handler)
    await rig.enqueue()
    await rig.clock.advance(323_900)
    let failures = 3
    rig.store.fate = () => (failures-- > 0 ? 'fails' : 'ok')
    await rig.clock.advance(10_000)
    // The first counts once the log has it, and so does the one that was asked for meanwhile.
    expect(renewedAt()).toHaveLength(2)
    expect(renewedAt()[1]).toBeLessThan(330)
    gates.finish(0)
    await rig.settle()
    expect(rig.events.at(-1)?.type).toBe('jobCompleted')
  })
})

describe('a lease that is lost', () => {
  it('WORKER-8: fires the signal with a FairleadError, and nothing is reported', async () => {
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    const { signal } = gates.jobs[0] as (typeof gates.jobs)[0]
    expect(signal.aborted).toBe(false)
    await rig.engine.cancel(jobId, 'operator')
    expect(signal.reason).toBeInstanceOf(FairleadError)
    expect(signal.reason).toMatchObject({ code: 'LeaseNotLive', details: { reason: 'job_ended' } })
    gates.finish(0, new Error('aborted'))
    await rig.settle()
    expect((await rig.story(jobId)).at(-1)).toBe('jobCanceled')
    expect(rig.errors).toEqual([])
  })

  it('WORKER-8: is noticed by the worker itself when its deadline passes and nobody can say so', async () => {
    await rig.worker(gates.handler)
    await rig.enqueue()
    await rig.source.cut()
    rig.source.down = true
    await rig.clock.advance(599_999)
    expect(gates.jobs[0]?.signal.aborted).toBe(false)
    await rig.clock.advance(1)
    expect(gates.jobs[0]?.signal.reason).toMatchObject({ code: 'LeaseNotLive' })
  })
})

describe('a store that fails', () => {
  it('WORKER-8: ack and outcome are said again until they are taken', async () => {
    await rig.worker(gates.handler)
    const fates = ['ok', 'fails', 'answer lost'] as const
    let commits = 0
    rig.store.fate = () => fates[commits++] ?? 'ok'
    const jobId = await rig.enqueue()
    await rig.clock.advance(1_000)
    expect(await rig.status(jobId)).toBe('RUNNING')
    expect(gates.jobs).toHaveLength(1)

    commits = 0
    rig.store.fate = () => (['fails', 'answer lost'] as const)[commits++] ?? 'ok'
    gates.finish(0, Buffer.from('done'))
    await rig.clock.advance(1_000)
    expect(await rig.status(jobId)).toBe('COMPLETED')
    expect(await rig.story(jobId)).toEqual([
      'jobEnqueued',
      'jobAssigned',
      'jobStarted',
      'jobCompleted',
    ])
  })

  it('WORKER-7: what was cancelled in a batch whose answer got lost is lost all the same', async () => {
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    let isLost = false
    rig.store.fate = () => {
      if (isLost) return 'ok'
      isLost = true
      return 'answer lost'
    }
    await expect(rig.engine.cancel(jobId, 'operator')).rejects.toThrow('outcome is unknown')
    // The engine asks the log again.
    await rig.clock.advance(250)
    expect(await rig.status(jobId)).toBe('CANCELED')
    expect(gates.jobs[0]?.signal.aborted).toBe(true)
  })
})

describe('a session that is cut', () => {
  it('WORKER-4: is opened again by the same worker, which goes on with what it has', async () => {
    const { workerId } = await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    await rig.source.cut()
    await rig.clock.advance(100)
    const leaseId = gates.jobs[0]?.leaseId
    expect(rig.source.hellos).toMatchObject([
      { workerId, slots: 4, holds: [] },
      { workerId, slots: 4, holds: [leaseId] },
    ])
    gates.finish(0)
    await rig.settle()
    expect((await rig.story(jobId)).at(-1)).toBe('jobCompleted')
    expect(await rig.status(await rig.enqueue())).toBe('RUNNING')
  })

  it('WORKER-4: reports an outcome once there is a session again', async () => {
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    await rig.source.cut()
    rig.source.down = true
    gates.finish(0)
    await rig.clock.advance(10_000)
    expect(await rig.status(jobId)).toBe('RUNNING')
    rig.source.down = false
    await rig.clock.advance(5_000)
    expect(await rig.status(jobId)).toBe('COMPLETED')
  })

  it('WORKER-4: for too long, its work goes to another worker and its own signal fires', async () => {
    await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    await rig.source.cut()
    rig.source.down = true
    await rig.clock.advance(15_000)
    expect(await rig.story(jobId)).toContain('leaseCancelled worker_lost')
    rig.source.down = false
    await rig.clock.advance(5_000)
    const [first, second] = gates.jobs
    expect(first?.signal.reason).toMatchObject({ code: 'LeaseNotLive' })
    expect([second?.jobId, second?.attempt]).toEqual([jobId, 1])
    expect((await rig.engine.getJob(jobId)).retries).toBe(0)
  })

  it('WORKER-10: by another process under its name, the first ends and says why', async () => {
    const first = await rig.worker(gates.handler, { workerId: 'w' })
    await rig.worker(gates.handler, { workerId: 'w' })
    await expect(first.closed).rejects.toMatchObject({ code: 'InvalidState' })
  })

  it('WORKER-9: that cannot be opened at all ends the worker', async () => {
    const wrong = await rig.worker(gates.handler, { providerId: 'Atlas' })
    await expect(wrong.closed).rejects.toMatchObject({ code: 'InvalidParams' })
  })
})

describe('a worker that stops', () => {
  it('WORKER-11: waits for its handlers, takes nothing new, and leaves', async () => {
    const stopping = await rig.worker(gates.handler, { concurrency: 2 })
    const running = await rig.enqueue()
    const stopped = stopping.stop()
    const waiting = await rig.enqueue()
    expect([await rig.status(running), await rig.status(waiting)]).toEqual(['RUNNING', 'QUEUED'])
    gates.finish(0)
    await stopped
    expect(await rig.status(running)).toBe('COMPLETED')
    expect(await rig.providers()).toMatchObject([{ workers: [] }])
    await expect(stopping.stop()).resolves.toBeUndefined()
  })

  it('WORKER-11: gives back what no handler has begun, uncharged and to somebody else', async () => {
    const other = new Gates()
    const stopping = await rig.worker(gates.handler, { concurrency: 1, workerId: 'a' })
    const first = await rig.enqueue()
    await rig.engine.cancel(first, 'operator')
    const queued = await rig.enqueue()
    expect([gates.jobs.length, await rig.status(queued)]).toEqual([1, 'ASSIGNED'])
    await rig.worker(other.handler, { workerId: 'b', source: rig.engine.leaseSource() })
    await stopping.stop()
    await rig.settle()
    expect(await rig.story(queued)).toContain('leaseCancelled released')
    expect(other.jobs).toMatchObject([{ jobId: queued, attempt: 1 }])
    expect((await rig.engine.getJob(queued)).retries).toBe(0)
  })

  it('WORKER-11: after its grace it fires the signals and gives the rest back', async () => {
    const stopping = await rig.worker(gates.handler)
    const jobId = await rig.enqueue()
    const stopped = stopping.stop({ graceMs: 2_000 })
    await rig.clock.advance(1_999)
    expect(gates.jobs[0]?.signal.aborted).toBe(false)
    await rig.clock.advance(1)
    await stopped
    expect(gates.jobs[0]?.signal.reason).toMatchObject({ code: 'SchedulerClosed' })
    expect(await rig.engine.getJob(jobId)).toMatchObject({ status: 'QUEUED', retries: 0 })
    expect((await rig.story(jobId)).slice(-2)).toEqual([
      'leaseCancelled released',
      'jobRequeued RELEASED',
    ])
  })

  it('WORKER-11: says that it takes nothing before it gives anything back, though the store fails', async () => {
    const stopping = await rig.worker(gates.handler, { concurrency: 1 })
    const first = await rig.enqueue()
    await rig.engine.cancel(first, 'operator')
    const queued = await rig.enqueue()
    let failures = 2
    rig.store.fate = () => (failures-- > 0 ? 'fails' : 'ok')
    const stopped = stopping.stop()
    await rig.clock.advance(1_000)
    await stopped
    const assigned = (await rig.story(queued)).filter((line) => line === 'jobAssigned')
    expect(assigned).toHaveLength(1)
    expect(await rig.engine.getJob(queued)).toMatchObject({ status: 'QUEUED', retries: 0 })
  })

  it('WORKER-11: leaves although it may not refuse work, and what it has not begun comes back uncharged', async () => {
    const stopping = await rig.worker(gates.handler, { concurrency: 1 })
    const first = await rig.enqueue()
    await rig.engine.cancel(first, 'operator')
    const queued = await rig.enqueue()
    rig.source.keepsSlots = true
    await stopping.stop()
    await rig.settle()
    expect(rig.errors).toMatchObject([{ code: 'Forbidden' }])
    const assigned = (await rig.story(queued)).filter((line) => line === 'jobAssigned')
    expect(assigned).toHaveLength(1)
    const other = new Gates()
    await rig.worker(other.handler, { source: rig.engine.leaseSource() })
    await rig.clock.advance(60_000)
    expect(other.jobs).toMatchObject([{ jobId: queued }])
    expect((await rig.engine.getJob(queued)).retries).toBe(0)
  })

  it('WORKER-11: can stop without a session, and before it has ever had one', async () => {
    rig.source.down = true
    const stopping = await rig.worker(gates.handler)
    await stopping.stop()
    expect(rig.source.hellos).toEqual([])
  })
})

it('WORKER-8: serves an engine on SQLite and a real clock', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-client-'))
  const store = await openSqliteStore(join(folder, 'fairlead.db'))
  const engine = await openEngine({ store })
  const serving = worker({
    source: engine.leaseSource(),
    providerId: ATLAS,
    kinds: ['task'],
    concurrency: 32,
    handler: ({ jobId }) => Buffer.from(jobId),
  })
  const done = allEnded(engine, 300)
  const requests = Array.from({ length: 300 }, (_, n) => ({
    kind: 'task',
    payload: { name: 'echo', args: { n } },
  }))
  await engine.enqueueMany(requests, { caller: callerOf('acme') })
  await done
  const { jobs } = await engine.listJobs({ status: 'COMPLETED', limit: 1_000 })
  expect(jobs).toHaveLength(300)
  for (const { id } of jobs) {
    expect(Buffer.from((await engine.getResult(id)).output ?? []).toString()).toBe(id)
  }
  await serving.stop()
  await engine.close()
  rmSync(folder, { recursive: true })
})

/** A Standard Schema by hand: any library that has the interface would do. */
const totalSchema: StandardSchema<{ total: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const { total } = value as { total?: unknown }
      if (typeof total === 'number') return { value: { total } }
      return { issues: [{ message: 'expected a number', path: ['total'] }] }
    },
  },
}
