import { describe, expect, it, test } from 'vitest'
import { WITH_PROOF, World } from '../../test/world.ts'
import { nextDueAt } from '../market/advance-market.ts'
import { cancelJob } from './cancel-job.ts'
import { decideProof } from './complete-lease.ts'
import { forgetEnded } from './end-job.ts'
import { keptSince, ttlAbsAt, ttlRelAt } from './ttl.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('absolute life', () => {
  test.each([
    { kind: 'ai', given: null, at: DAY },
    { kind: 'quantum', given: null, at: 2 * HOUR },
    { kind: 'task', given: null, at: DAY },
    { kind: 'ai', given: 60, at: 60_000 },
    { kind: 'quantum', given: 86_400, at: DAY },
  ] as const)('TTL-1: a job of kind $kind that names $given ends at $at', (row) => {
    const world = new World()
    const job = world.enqueue({ kind: row.kind, ttlAbsSecs: row.given })
    expect(ttlAbsAt(job, world.market.policy)).toBe(row.at)
    world.at(row.at - 1)
    expect(job).toMatchObject({ status: 'QUEUED', endedAt: null })
    world.at(row.at)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', endedAt: row.at, retries: 0 })
  })

  it('TTL-1: it counts from enqueue_ts, and retries do not prolong it', () => {
    const world = new World()
    world.at(1_000)
    const job = world.enqueue({ ttlAbsSecs: 20 })
    world.assign({ job })
    world.at(20_999)
    expect(job).toMatchObject({ status: 'QUEUED', retries: 1 })
    world.at(21_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', notBefore: null })
  })

  it('TTL-4: a live lease is cancelled first, nothing is charged, the units are given back', () => {
    const world = new World()
    const lease = world.run({ job: world.enqueue({ ttlAbsSecs: 60 }) })
    world.at(60_000)
    expect(lease.status).toBe('CANCELLED')
    expect(lease.job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', retries: 0 })
    expect(world.a).toMatchObject({ liveLeases: 0, failures: 0, health: 1_000 })
    expect(world.units()).toBe(0)
  })

  test.each([
    { ttl: 600, what: 'lease deadline' },
    { ttl: 5, what: 'ack timeout' },
  ])('STATE-6: at one time with the $what, ttl_abs comes first', ({ ttl, what }) => {
    const world = new World()
    const job = world.enqueue({ ttlAbsSecs: ttl })
    const lease = what === 'ack timeout' ? world.assign({ job }) : world.run({ job })
    world.at(1_000 * ttl)
    expect(lease.status).toBe('CANCELLED')
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', retries: 0 })
    expect(world.a.health).toBe(1_000)
  })
})

describe('relative life', () => {
  it('TTL-1: it ends 6 h after the first assignment, not the last', () => {
    const world = new World()
    const job = world.enqueue()
    expect(ttlRelAt(job, world.market.policy)).toBe(Number.POSITIVE_INFINITY)
    world.at(1_000)
    world.release(world.assign({ job }))
    world.at(2_000)
    world.release(world.assign({ job }))
    expect(ttlRelAt(job, world.market.policy)).toBe(1_000 + 6 * HOUR)
    world.at(6 * HOUR + 999)
    expect(job.status).toBe('QUEUED')
    world.at(6 * HOUR + 1_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_rel', endedAt: 6 * HOUR + 1_000 })
  })

  test.each([
    { assignedAt: 999, reason: 'ttl_rel', endedAt: 6 * HOUR + 999 },
    { assignedAt: 1_000, reason: 'ttl_abs', endedAt: 6 * HOUR + 1_000 },
    { assignedAt: 1_001, reason: 'ttl_abs', endedAt: 6 * HOUR + 1_000 },
  ])('TTL-1: assigned at $assignedAt, 6 h and 1 s to live: $reason', ({ assignedAt, ...end }) => {
    const world = new World()
    const job = world.enqueue({ ttlAbsSecs: 21_601 })
    world.at(assignedAt)
    world.release(world.assign({ job }))
    world.at(DAY)
    expect(job).toMatchObject({ status: 'EXPIRED', ...end })
  })

  it('TTL-1: it cuts off a lease that is renewed again and again', () => {
    const world = new World({ queue: { ttl: { rel_max_secs: 700 } } })
    const lease = world.run()
    world.renew(lease)
    world.at(699_999)
    expect(lease.status).toBe('RENEWED')
    world.at(700_000)
    expect(lease.status).toBe('CANCELLED')
    expect(lease.job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_rel', retries: 0 })
  })
})

describe('a job that waits for its proof', () => {
  it('TTL-2: it is not ended by its TTL, and a valid proof completes it', () => {
    const world = new World(WITH_PROOF)
    const job = world.enqueue({ ttlAbsSecs: 60 })
    world.complete(world.run({ job }))
    world.at(599_999)
    expect(job).toMatchObject({ status: 'RUNNING', reason: null })
    decideProof(world.market, job, true)
    expect(job).toMatchObject({ status: 'COMPLETED', endedAt: 599_999 })
  })

  it('TTL-2: nor by its relative one, which counts again once the proof is invalid', () => {
    const world = new World({ queue: { ...WITH_PROOF.queue, ttl: { rel_max_secs: 60 } } })
    const lease = world.run()
    world.complete(lease)
    world.at(100_000)
    expect(lease.job).toMatchObject({ status: 'RUNNING', reason: null })
    decideProof(world.market, lease.job, false)
    world.at(100_000)
    expect(lease.job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_rel', endedAt: 100_000 })
  })

  it('TTL-2: if the proof is invalid, a TTL that passed meanwhile ends it at that time', () => {
    const world = new World(WITH_PROOF)
    const job = world.enqueue({ ttlAbsSecs: 60 })
    world.complete(world.run({ job }))
    world.at(100_000)
    decideProof(world.market, job, false)
    world.at(100_000)
    expect(job).toMatchObject({
      status: 'EXPIRED',
      reason: 'ttl_abs',
      endedAt: 100_000,
      retries: 1,
    })
  })

  it('TTL-2: the same when no proof came in time, even if it is noticed much later', () => {
    const world = new World(WITH_PROOF)
    const job = world.enqueue({ ttlAbsSecs: 60 })
    world.complete(world.run({ job }))
    world.at(HOUR)
    expect(job).toMatchObject({
      status: 'EXPIRED',
      reason: 'ttl_abs',
      endedAt: 600_000,
      retries: 1,
    })
  })

  it('TTL-2: a TTL that is still ahead counts again after an invalid proof', () => {
    const world = new World(WITH_PROOF)
    const job = world.enqueue({ ttlAbsSecs: 60 })
    world.complete(world.run({ job }))
    decideProof(world.market, job, false)
    world.at(59_999)
    expect(job).toMatchObject({ status: 'QUEUED', retries: 1 })
    world.at(60_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs' })
  })
})

describe('what has ended', () => {
  it('ENGINE-7: an ended job leaves memory with all its leases, and no other does', () => {
    const world = new World()
    const lease = world.run()
    const [canceled, alive] = [world.enqueue(), world.enqueue()]
    world.complete(lease)
    cancelJob(world.market, canceled, 'operator')
    forgetEnded(world.market)
    expect([...world.market.jobs.values()]).toEqual([alive])
    expect(world.market.leases.size).toBe(0)
  })

  it('TTL-3: an ended job is kept for 7 days from its end, and then goes with its leases', () => {
    const world = new World()
    const lease = world.run()
    const canceled = world.enqueue()
    world.at(10)
    world.complete(lease)
    world.at(20)
    cancelJob(world.market, canceled, 'operator')
    const collect = (at: number) => {
      world.at(at)
      forgetEnded(world.market, keptSince(world.market.policy, world.market.nowMs))
      return [[...world.market.jobs.values()].map(({ id }) => id).sort(), world.market.leases.size]
    }
    expect(collect(9 + 7 * DAY)).toEqual([[lease.job.id, canceled.id], 1])
    expect(collect(10 + 7 * DAY)).toEqual([[canceled.id], 0])
    expect(collect(20 + 7 * DAY)).toEqual([[], 0])
  })

  it('ENGINE-7: the same id is a new job from then on', () => {
    const world = new World()
    const job = world.enqueue()
    cancelJob(world.market, job, 'operator')
    expect(world.enqueue({ id: job.id })).toBe(job)
    forgetEnded(world.market)
    world.at(1_000)
    const again = world.enqueue({ id: job.id })
    expect(again).toMatchObject({ status: 'QUEUED', enqueueTs: 1_000, attempt: null, retries: 0 })
  })
})

describe('a change of policy', () => {
  it('POLICY-8: lives follow the new values at once', () => {
    const world = new World()
    const [byDefault, asGiven, assigned] = [
      world.enqueue(),
      world.enqueue({ ttlAbsSecs: 7_200 }),
      world.enqueue({ ttlAbsSecs: 7_200 }),
    ]
    world.release(world.assign({ job: assigned }))
    world.at(1_000)
    world.policy({ queue: { ttl: { abs_default_ai_secs: 60, rel_max_secs: 120 } } })
    expect(nextDueAt(world.market)).toBe(60_000)
    world.at(60_000)
    expect([byDefault, asGiven, assigned].map(({ reason }) => reason)).toEqual([
      'ttl_abs',
      null,
      null,
    ])
    world.at(120_000)
    expect([asGiven, assigned].map(({ reason }) => reason)).toEqual([null, 'ttl_rel'])
  })

  it('POLICY-8: a life that is over by the new values ends at the time of the change', () => {
    const world = new World()
    const job = world.enqueue()
    world.at(100_000)
    world.policy({ queue: { ttl: { abs_default_ai_secs: 60 } } })
    world.at(150_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', endedAt: 100_000 })
  })

  it('STATE-6: and it does so before the next call, even if that call brings an earlier time', () => {
    const world = new World()
    const job = world.enqueue()
    world.at(100_000)
    world.policy({ queue: { ttl: { abs_default_ai_secs: 60 } } })
    world.at(59_999)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', endedAt: 100_000 })
  })

  it('COMPLETE-2: a proof awaited for the second time is due by the shorter timeout of today', () => {
    const world = new World(WITH_PROOF)
    world.complete(world.run()) // Another one that waits, so that ours is not the first due.
    const job = world.enqueue()
    world.complete(world.run({ job }))
    decideProof(world.market, job, false)
    const completion = { ...WITH_PROOF.queue.completion, proof_timeout_secs: 10 }
    world.policy({ queue: { completion } })
    world.at(20_000)
    world.complete(world.run({ job }))
    world.at(29_999)
    expect(job).toMatchObject({ status: 'RUNNING', retries: 1 })
    world.at(30_000)
    expect(job).toMatchObject({ status: 'QUEUED', retries: 2 })
  })

  it('COMPLETE-2: the time for a proof is policy as it stands, for it is no term of a lease', () => {
    const world = new World(WITH_PROOF)
    const lease = world.run()
    world.complete(lease)
    const completion = { ...WITH_PROOF.queue.completion, proof_timeout_secs: 10 }
    world.policy({ queue: { completion } })
    world.at(9_999)
    expect(lease.job.status).toBe('RUNNING')
    world.at(10_000)
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
  })
})

describe('no end', () => {
  const ENDLESS = { queue: { ttl: { abs_default_task_secs: null, rel_max_secs: null } } }
  const YEARS = 20 * 365 * DAY

  it('TTL-1: with both settings null a task lives on, assigned or not', () => {
    const world = new World(ENDLESS)
    const [waiting, assigned] = [world.enqueue({ kind: 'task' }), world.enqueue({ kind: 'task' })]
    world.release(world.run({ job: assigned }))
    expect(nextDueAt(world.market)).not.toBe(HOUR * 6)
    world.at(YEARS)
    expect([waiting.status, assigned.status]).toEqual(['QUEUED', 'QUEUED'])
    for (const job of [waiting, assigned]) {
      expect(ttlAbsAt(job, world.market.policy)).toBe(Number.POSITIVE_INFINITY)
      expect(ttlRelAt(job, world.market.policy)).toBe(Number.POSITIVE_INFINITY)
    }
  })

  it('TTL-1: a life that the job names counts all the same, and so does that of other kinds', () => {
    const world = new World(ENDLESS)
    const named = world.enqueue({ kind: 'task', ttlAbsSecs: 60 })
    const ai = world.enqueue()
    world.at(60_000)
    expect(named).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', endedAt: 60_000 })
    world.at(DAY)
    expect(ai).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', endedAt: DAY })
  })

  it('POLICY-8: a finite life ends old jobs at their time, those that are over it at once', () => {
    const world = new World(ENDLESS)
    const old = world.enqueue({ kind: 'task' })
    const assigned = world.enqueue({ kind: 'task' })
    world.release(world.run({ job: assigned }))
    world.at(10 * HOUR)
    const young = world.enqueue({ kind: 'task' })
    world.policy({ queue: { ttl: { abs_default_task_secs: 8 * 3_600, rel_max_secs: null } } })
    world.at(10 * HOUR)
    expect(old).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', endedAt: 10 * HOUR })
    expect(nextDueAt(world.market)).toBe(18 * HOUR)
    world.at(18 * HOUR - 1)
    expect(young.status).toBe('QUEUED')
    world.at(18 * HOUR)
    expect(young).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs', endedAt: 18 * HOUR })
  })

  it('POLICY-8: a finite relative life counts from the first assignment, also of a job before it', () => {
    const world = new World(ENDLESS)
    const job = world.enqueue({ kind: 'task' })
    const never = world.enqueue({ kind: 'task' })
    world.at(1_000)
    const lease = world.run({ job })
    world.at(2_000)
    world.policy({ queue: { ttl: { abs_default_task_secs: null, rel_max_secs: 60 } } })
    world.at(60_999)
    expect(lease.status).toBe('ACTIVE')
    world.at(61_000)
    expect(lease.status).toBe('CANCELLED')
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_rel', endedAt: 61_000 })
    world.at(YEARS)
    expect(never.status).toBe('QUEUED')
  })

  it('POLICY-8: a life that becomes null is over for nobody any more', () => {
    const world = new World()
    const job = world.enqueue({ kind: 'task' })
    world.release(world.run({ job }))
    world.policy(ENDLESS)
    world.at(YEARS)
    expect(job.status).toBe('QUEUED')
    cancelJob(world.market, job, 'operator')
    expect(job.status).toBe('CANCELED')
  })

  it('TTL-2: a job that waits for its proof is not ended by a life that is set meanwhile', () => {
    const proof = { completion: { ai_verification: 'proof' } }
    const world = new World({ queue: { ...ENDLESS.queue, ...proof } })
    const { job } = world.complete(world.run({ job: world.enqueue() }))
    world.policy({ queue: { ...proof, ttl: { abs_default_ai_secs: 60, rel_max_secs: 30 } } })
    world.at(100_000)
    expect(job.status).toBe('RUNNING')
    decideProof(world.market, job, false)
    world.at(100_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_rel', endedAt: 100_000 })
  })
})
