import { describe, expect, it } from 'vitest'
import { jobNamed } from '../../test/any-market.ts'
import { refusal } from '../../test/refusal.ts'
import { OWNER, STRANGER, World, type Written } from '../../test/world.ts'
import { nextDueAt } from '../market/advance-market.ts'
import type { Job } from '../market/job.ts'
import { cancelJob } from '../outcome/cancel-job.ts'

const LIMITS = ['max_depth', 'max_per_caller'] as const

describe('a full queue', () => {
  it.each(LIMITS)('ENQUEUE-7: %s jobs may wait, and no more', (limit) => {
    const { enqueue } = new World(limitedTo(limit, 2))
    expect([refusal(() => enqueue()), refusal(() => enqueue())]).toEqual([null, null])
    expect(() => enqueue()).toThrow(
      expect.objectContaining({
        code: 'QueueOverCapacity',
        details: { limit, retry_after_ms: 250 },
        retryable: true,
      }),
    )
  })

  it.each(LIMITS)('ENQUEUE-7: with %s 0 nothing is taken', (limit) => {
    const { enqueue, market } = new World(limitedTo(limit, 0))
    expect(refusal(() => enqueue())).toBe('QueueOverCapacity')
    expect(market.jobs.size).toBe(0)
  })

  it('ENQUEUE-7: max_per_caller null is no limit', () => {
    const { enqueue } = new World(limitedTo('max_per_caller', null))
    for (let n = 0; n < 100; n++) expect(refusal(() => enqueue())).toBeNull()
  })

  it('ENQUEUE-7: max_depth counts all callers together, max_per_caller each alone', () => {
    const deep = new World(limitedTo('max_depth', 1))
    deep.enqueue()
    expect(refusal(() => deep.enqueue({ caller: STRANGER }))).toBe('QueueOverCapacity')
    const shared = new World(limitedTo('max_per_caller', 1))
    shared.enqueue()
    expect(refusal(() => shared.enqueue({ caller: STRANGER }))).toBeNull()
    expect(refusal(() => shared.enqueue({ caller: STRANGER }))).toBe('QueueOverCapacity')
  })

  it.each(LIMITS)('ENQUEUE-7: %s counts all kinds together', (limit) => {
    const { enqueue } = new World(limitedTo(limit, 3))
    for (const kind of ['ai', 'quantum', 'task'] as const) enqueue({ kind })
    for (const kind of ['ai', 'quantum', 'task'] as const) {
      expect(refusal(() => enqueue({ kind }))).toBe('QueueOverCapacity')
    }
  })

  const BUSY: Readonly<Record<string, (world: World, job: Job) => void>> = {
    'leased, not acked': (world, job) => world.assign({ job }),
    running: (world, job) => world.run({ job }),
    'waiting for its proof': (world, job) => world.complete(world.run({ job })),
    completed: (world, job) => world.complete(world.assign({ job })),
    canceled: ({ market }, job) => cancelJob(market, job, OWNER),
    'failed for good': (world, job) => world.fail(world.run({ job }), { permanent: true }),
  }
  const WAITING: Readonly<Record<string, (world: World, job: Job) => void>> = {
    'in backoff': (world, job) => world.fail(world.run({ job })),
    'given back': (world, job) => world.release(world.run({ job })),
    declined: (world, job) => world.decline(world.assign({ job })),
    'timed out before its ack': (world, job) => {
      world.assign({ job })
      world.at(5_000)
    },
  }
  const each = (how: object) =>
    Object.keys(how).flatMap((name) => LIMITS.map((limit) => [name, limit] as const))

  it.each(each(BUSY))('ENQUEUE-7: a job that is %s does not count in %s', (how, limit) => {
    const proof = how === 'waiting for its proof' ? 'proof' : 'none'
    const { queue } = limitedTo(limit, 1)
    const world = new World({ queue: { ...queue, completion: { ai_verification: proof } } })
    const job = world.enqueue()
    expect(refusal(() => world.enqueue())).toBe('QueueOverCapacity')
    BUSY[how]?.(world, job)
    expect(job.status).not.toBe('QUEUED')
    expect(refusal(() => world.enqueue())).toBeNull()
    expect(refusal(() => world.enqueue())).toBe('QueueOverCapacity')
  })

  it.each(each(WAITING))('ENQUEUE-7: a job that is %s counts in %s again', (how, limit) => {
    const world = new World(limitedTo(limit, 1))
    const job = world.enqueue()
    WAITING[how]?.(world, job)
    expect(job.status).toBe('QUEUED')
    expect(refusal(() => world.enqueue())).toBe('QueueOverCapacity')
  })

  it('ENQUEUE-7: retries may fill the queue beyond its limit; then it takes nothing either', () => {
    const world = new World(limitedTo('max_depth', 1))
    const first = world.run()
    const second = world.run()
    world.release(first)
    world.release(second)
    expect(world.market.waitingOf.get(OWNER)).toBe(2)
    expect(refusal(() => world.enqueue())).toBe('QueueOverCapacity')
    world.assign({ job: first.job })
    expect(refusal(() => world.enqueue())).toBe('QueueOverCapacity')
  })

  it('ENQUEUE-7: when both limits are reached, the depth of the whole queue is told', () => {
    const { enqueue } = new World({ queue: { max_depth: 1, max_per_caller: 1 } })
    enqueue()
    expect(() => enqueue()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ limit: 'max_depth' }) }),
    )
  })

  it('ENQUEUE-7: retry_after_ms is the interval of the rounds', () => {
    const { enqueue } = new World({ queue: { max_depth: 0, dispatch_interval_ms: 40 } })
    expect(() => enqueue()).toThrow(
      expect.objectContaining({ details: { limit: 'max_depth', retry_after_ms: 40 } }),
    )
  })

  it.each(LIMITS)('ENQUEUE-7: a job refused for %s leaves nothing behind', (limit) => {
    const world = new World(limitedTo(limit, 1))
    const { market, enqueue } = world
    const waiting = enqueue()
    const before = viewOf(world)
    const refused = jobNamed(77)
    expect(refusal(() => enqueue({ id: refused, ttlAbsSecs: 1 }))).toBe('QueueOverCapacity')
    expect(viewOf(world)).toEqual(before)
    expect(nextDueAt(market)).toBe(86_400_000)

    // And it is new when it comes again.
    world.at(3_000)
    world.assign({ job: waiting })
    expect(enqueue({ id: refused, ttlAbsSecs: 1 })).toMatchObject({ enqueueTs: 3_000 })
  })

  it('STATE-8: a wrong tier is told before a full queue', () => {
    const { enqueue } = new World(limitedTo('max_depth', 0))
    expect(refusal(() => enqueue({ tier: 'GOLD' }))).toBe('InvalidParams')
  })
})

describe('the same id again', () => {
  const STATES: Readonly<Record<Job['status'], (world: World, job: Job) => void>> = {
    QUEUED: () => {},
    ASSIGNED: (world, job) => world.assign({ job }),
    RUNNING: (world, job) => world.run({ job }),
    COMPLETED: (world, job) => world.complete(world.run({ job })),
    FAILED: (world, job) => world.fail(world.run({ job }), { permanent: true }),
    EXPIRED: (world) => world.at(60_000),
    CANCELED: ({ market }, job) => cancelJob(market, job, OWNER),
  }

  it.each(Object.keys(STATES) as Job['status'][])(
    'ENQUEUE-13: the id of a job that is %s gives that job and changes nothing',
    (status) => {
      const world = new World()
      const job = world.enqueue({ ttlAbsSecs: 60, fee: 5n, regions: ['eu'] })
      STATES[status](world, job)
      expect(job.status).toBe(status)
      const before = viewOf(world)
      const again = { id: job.id, ttlAbsSecs: 9, fee: 9n, regions: ['us'], tier: 'PRO' }
      expect(world.enqueue(again)).toBe(job)
      expect(viewOf(world)).toEqual(before)
      expect(job).toMatchObject({ status, ttlAbsSecs: 60, fee: 5n, tier: 'FREE' })
      expect(job.shape.regions).toEqual(['eu'])
    },
  )

  it.each(LIMITS)('ENQUEUE-13: %s is not asked', (limit) => {
    const { enqueue } = new World(limitedTo(limit, 1))
    const job = enqueue()
    expect(enqueue({ id: job.id })).toBe(job)
    expect(refusal(() => enqueue())).toBe('QueueOverCapacity')
  })

  it('ENQUEUE-13: a second caller under that id gets the job of the first', () => {
    const { enqueue, market } = new World()
    const job = enqueue()
    expect(enqueue({ id: job.id, caller: STRANGER, kind: 'task' })).toBe(job)
    expect(job.caller).toBe(OWNER)
    expect([...market.waitingOf]).toEqual([[OWNER, 1]])
  })
})

describe('a new job', () => {
  it('ENQUEUE-14: it is QUEUED, without attempts, retries and declines, and it is told', () => {
    const world = new World()
    world.at(1_234)
    const job = world.enqueue({ tier: 'PRO', enqueueSeq: 7 })
    expect(job).toMatchObject({
      status: 'QUEUED',
      enqueueTs: 1_234,
      enqueueSeq: 7,
      tier: 'PRO',
      notBefore: null,
      attempt: null,
      retries: 0,
      declines: 0,
      firstAssignedAt: null,
      endedAt: null,
      reason: null,
    })
    expect(world.events.at(-1)).toEqual({ type: 'jobEnqueued', at: 1_234, jobId: job.id })
    expect(world.events.filter(({ type }) => type === 'jobEnqueued')).toHaveLength(1)
  })

  it('ENQUEUE-14: it is ready at once, for a round of the same millisecond', () => {
    const world = new World()
    world.at(1_234)
    const job = world.enqueue()
    expect(world.round()).toEqual([job])
  })

  it.each([0, 1, 2 ** 20 - 1, 2 ** 20, 1_760_000_000_123, 4_102_444_800_000, 2 ** 52 + 1])(
    'ENQUEUE-14: enqueue_ts is the time of the call, %i, and stays so',
    (nowMs) => {
      const world = new World({}, { nowMs })
      const job = world.enqueue()
      expect(job.enqueueTs).toBe(nowMs)
      world.fail(world.run({ job }))
      world.at(nowMs + 60_000)
      world.release(world.run({ job }))
      expect(job).toMatchObject({ status: 'QUEUED', enqueueTs: nowMs })
    },
  )

  it('ENQUEUE-15: its tier is what is given beside the request', () => {
    const { enqueue } = new World()
    for (const tier of ['FREE', 'PRO', 'PREMIUM']) expect(enqueue({ tier }).tier).toBe(tier)
    expect(refusal(() => enqueue({ tier: 'GOLD' }))).toBe('InvalidParams')
  })
})

function limitedTo(limit: (typeof LIMITS)[number], max: number | null): Written {
  return { queue: { [limit]: max } }
}

/** All that an enqueue can change. */
function viewOf({ market, events }: World) {
  const waiting = [...market.queues].map(([kind, { size }]) => [kind, size])
  const jobs = [...market.jobs.values()].map(({ id }) => id)
  return {
    jobs,
    waiting,
    byCaller: [...market.waitingOf],
    due: nextDueAt(market),
    told: [...events],
  }
}
