import { describe, expect, it } from 'vitest'
import { WITH_PROOF, World } from '../../test/world.ts'
import { giveBack } from '../lease/give-back.ts'
import type { Job } from '../market/job.ts'
import type { RequeueReason } from '../market/market.ts'
import { setProviderStatus } from '../registry/provider-status.ts'
import { decideProof } from './complete-lease.ts'

/** Every way back to the queue; the charges and a lost worker leave the job in backoff for some seconds. */
const WAYS: Readonly<Record<RequeueReason, (world: World, job: Job) => void>> = {
  ACK_TIMEOUT: (world, job) => {
    world.assign({ job })
    world.at(world.market.nowMs + 5_000)
  },
  LEASE_EXPIRED: (world, job) => {
    world.run({ job })
    world.at(world.market.nowMs + 600_000)
  },
  PROVIDER_FAIL: (world, job) => world.fail(world.run({ job })),
  PROOF_INVALID: (world, job) => {
    world.complete(world.run({ job }))
    decideProof(world.market, job, false)
  },
  DECLINED: (world, job) => world.decline(world.assign({ job })),
  RELEASED: (world, job) => world.release(world.run({ job })),
  WORKER_LOST: (world, job) => giveBack(world.market, world.run({ job }), 'worker_lost'),
  LEASE_CANCELLED: (world, job) => {
    world.run({ job })
    setProviderStatus(world.market, world.a, 'JAILED')
  },
}
const REASONS = Object.keys(WAYS) as RequeueReason[]

describe('a job that goes back to the queue', () => {
  it.each(REASONS)('RETRY-3: after %s it is still before those that came later', (reason) => {
    const world = new World(WITH_PROOF)
    world.at(1_000)
    const before = world.enqueue()
    world.at(2_000)
    const job = world.enqueue()
    world.at(3_000)
    const behind = world.enqueue()
    WAYS[reason](world, job)
    expect(world.events.at(-1)).toMatchObject({ type: 'jobRequeued', jobId: job.id, reason })
    expect(job).toMatchObject({ status: 'QUEUED', enqueueTs: 2_000 })
    expect(orderOnceReady(world)).toEqual([before, job, behind])
  })

  it.each(REASONS)('RETRY-3: after %s its number counts within its millisecond', (reason) => {
    const world = new World({ ...WITH_PROOF, match: { ties: 'arrival' } })
    const [third, second, first] = [3, 2, 1].map((enqueueSeq) => world.enqueue({ enqueueSeq }))
    WAYS[reason](world, second as Job)
    expect(second).toMatchObject({ status: 'QUEUED', enqueueTs: 0, enqueueSeq: 2 })
    expect(orderOnceReady(world)).toEqual([first, second, third])
  })

  it('RETRY-3: its age counts from its enqueue_ts, not from when it came back', () => {
    // A fee of 100,000 is worth 720 s of age. So a job that comes with it 600 s after the other goes
    // first, and one that comes after 800 s does not.
    const passes = (afterMs: number): boolean => {
      const world = new World()
      const job = world.enqueue()
      world.at(500_000)
      world.release(world.run({ job }))
      world.at(afterMs)
      const rich = world.enqueue({ fee: 100_000n })
      return orderOnceReady(world)[0] === rich
    }
    expect(passes(800_000)).toBe(false)
    expect(passes(600_000)).toBe(true)
  })
})

/** The jobs of kind ai in the order in which they would be taken, with none left in backoff. */
function orderOnceReady({ market }: World): Job[] {
  const queue = market.queues.get('ai')
  const nowMs = Math.max(market.nowMs, queue?.nextReadyAt() ?? 0)
  const order: Job[] = []
  for (let job = queue?.popBest(nowMs); job !== undefined; job = queue?.popBest(nowMs)) {
    order.push(job as Job)
  }
  return order
}
