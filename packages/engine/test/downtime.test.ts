import { openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ACME, ATLAS, OFFER, START } from './rig.ts'

const TASK = { kind: 'task', payload: { name: 'resize', args: {} } }

let disk: MemoryStore
let clock: TestClock

beforeEach(() => {
  disk = new MemoryStore()
  clock = new TestClock(START)
})

describe('a life that runs out while no engine is there', () => {
  it('ENGINE-4, STATE-6: ends when it ran out, and the lease of its job with it', async () => {
    const first = await openEngine({ store: disk, clock })
    await first.registerProvider(ATLAS, OFFER)
    const worker = await ManualWorker.connect(first, ATLAS, { slots: 1 })
    const [running, waiting] = await Promise.all([
      first.enqueue({ ...TASK, ttl_abs_secs: 70 }, { caller: ACME }),
      first.enqueue({ ...TASK, ttl_abs_secs: 80 }, { caller: ACME }),
    ])
    await clock.settle()
    await worker.session.ack(worker.offered.leaseId)
    await first.close()
    await clock.advance(100_000)

    const next = await openEngine({ store: disk, clock })
    await clock.advance(0)
    for (const [jobId, endedAt] of [
      [running, START + 70_000],
      [waiting, START + 80_000],
    ] as const) {
      const ended = { status: 'EXPIRED', reason: 'ttl_abs', endedAt, retries: 0 }
      expect(await next.getJob(jobId)).toMatchObject(ended)
      expect((await next.timeline(jobId)).at(-1)).toMatchObject({
        action: 'jobExpired',
        at: endedAt,
      })
    }
    const [lease] = await disk.read.leases(running)
    expect(lease?.status).toBe('CANCELLED')
    await next.close()
  })

  it('ENGINE-4: ends before anything that happens at the time of loading', async () => {
    const first = await openEngine({ store: disk, clock })
    await first.registerProvider(ATLAS, OFFER)
    const jobId = await first.enqueue({ ...TASK, ttl_abs_secs: 70 }, { caller: ACME })
    await first.close()
    await clock.advance(70_000)
    const next = await openEngine({ store: disk, clock })
    const worker = await ManualWorker.connect(next, ATLAS)
    await clock.settle()
    expect(worker.offers).toEqual([])
    expect((await next.timeline(jobId)).map(({ action }) => action)).toEqual([
      'jobEnqueued',
      'jobExpired',
    ])
    await next.close()
  })
})
