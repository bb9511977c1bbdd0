import {
  type Caller,
  callerOf,
  decodeCbor,
  encodeCbor,
  type JobId,
  type LeaseOffer,
  type ProviderId,
} from '@fairlead/core'
import { type Engine, explanationText, openEngine } from '@fairlead/engine'
import { MemoryStore, stateHash, TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ACME, START } from './rig.ts'

const SIGNUP = 'provider:signup' as ProviderId
const OPENS = START + 60_000
const OFFER = {
  capabilities: new Set(['registration'] as const),
  platforms: new Set(['bookeo', 'asks', 'keyed', 'plain']),
}
const POLICY = {
  sessions: {
    platforms: {
      asks: { lookup_supported: true },
      keyed: { idempotency_key_supported: true },
    },
  },
}

let store: MemoryStore
let clock: TestClock
let engine: Engine
let worker: ManualWorker

beforeEach(async () => {
  store = new MemoryStore()
  clock = new TestClock(START)
  engine = await openEngine({ store, clock, policy: POLICY })
  await engine.registerProvider(SIGNUP, OFFER)
  worker = await ManualWorker.connect(engine, SIGNUP, { id: 'w-1', slots: 10 })
})

afterEach(() => engine.close())

interface Asked {
  readonly platform?: string
  readonly event?: string
  readonly at?: number
  readonly org?: string
  readonly caller?: Caller
}

/** One a millisecond, so that they stand in the order of these calls. */
async function signUp(user: string, asked: Asked = {}, isOperator = false): Promise<JobId> {
  await clock.advance(1)
  const { platform = 'plain', event = 'swim', at = OPENS, org = 'north', caller = ACME } = asked
  const payload = {
    provider: platform,
    org_ref: org,
    event_id: event,
    user_id: user,
    args: { child: 'Kim' },
    scheduled_time: at,
  }
  return engine.enqueue({ kind: 'registration', payload }, { caller, isOperator })
}

/** The offers since the last call, with who they are for. */
function offered(from: ManualWorker = worker): LeaseOffer[] {
  return from.offers.splice(0)
}

const holder = ({ leaseId }: LeaseOffer) => ({ leaseId, by: SIGNUP, workerId: worker.id })

async function at(ms: number): Promise<void> {
  await clock.advance(OPENS + ms - clock.now())
}

async function book(offer: LeaseOffer): Promise<void> {
  const output = encodeCbor({ outcome: 'booked', booking_number: 'B-1' })
  await engine.ack(holder(offer))
  await engine.complete({ ...holder(offer), output })
}

describe('an opening', () => {
  it('DISPATCH-8: nobody is sent before it; then in order, by pace and budget, with rank and key', async () => {
    const jobs = [await signUp('u1'), await signUp('u2'), await signUp('u3')]
    await at(-1)
    expect(offered()).toEqual([])
    expect(engine.view.waitReason(jobs[0] as JobId)).toBe('not_open')
    await at(0)
    const [first] = offered()
    expect(first).toMatchObject({ jobId: jobs[0], task: 'book', rank: 0, tStart: OPENS })
    expect(first?.idempotencyKey).toMatch(/^[0-9a-f]{64}$/)
    expect(engine.view.waitReason(jobs[1] as JobId)).toBe('pacing')
    await at(50)
    expect(offered().map(({ rank }) => rank)).toEqual([1])
    // Two attempts are under way, as many as a dispatch key may have.
    await at(100)
    expect(offered()).toEqual([])
    // Time stands still while nothing happens.
    await engine.heartbeat(SIGNUP)
    expect(engine.view.waitReason(jobs[2] as JobId)).toBe('budget')
    await book(first as LeaseOffer)
    await clock.settle()
    expect(offered().map(({ jobId }) => jobId)).toEqual([jobs[2]])
    expect((await engine.getJob(jobs[0] as JobId)).status).toBe('COMPLETED')
    expect(decodeCbor((await engine.getResult(jobs[0] as JobId)).output as Uint8Array)).toEqual({
      outcome: 'booked',
      booking_number: 'B-1',
    })
  })

  it('DISPATCH-8: only a worker that serves the platform gets it; until then token and turn are kept', async () => {
    const job = await signUp('u1', { platform: 'elsewhere' })
    await at(10)
    expect(offered()).toEqual([])
    expect(engine.view.waitReason(job)).toBe('no_provider')
    await engine.updateProvider(SIGNUP, { platforms: new Set(['*']) })
    await clock.settle()
    expect(offered()).toHaveLength(1)
  })

  it('EXPLAIN-9: it is explained by session, rank, pace and budget', async () => {
    await signUp('u1')
    await signUp('u2')
    const third = await signUp('u3')
    await at(-1)
    expect(explanationText(await engine.explain(third))).toContain('Its session has not opened')
    await at(60)
    const explained = await engine.explain(third)
    expect(explained).toMatchObject({
      waitReason: 'pacing',
      place: 1,
      of: 1,
      session: { rank: 2, sendAt: OPENS + 100, inFlight: 2, inFlightMax: 2, tokens: 2 },
    })
    await at(100)
    await engine.heartbeat(SIGNUP)
    expect(explanationText(await engine.explain(third))).toContain('2 of 2 attempts of "north"')
  })
})

describe('what is remembered', () => {
  const SOON = { ...POLICY, queue: { ttl: { gc_horizon_secs: 200 } } }
  const lanes = async () => {
    await engine.checkpoint()
    return (await store.tables.load()).lanes.filter(({ lane }) => lane.startsWith('session'))
  }

  it('DISPATCH-9, SESSION-10: sessions, groups and dispatch keys are forgotten, in memory and in the store', async () => {
    await engine.setPolicy(SOON)
    for (const org of ['a', 'b', 'c']) {
      await signUp('u1', { org })
      await signUp('u2', { org })
      await signUp('u3', { org, at: OPENS + 7_000 }, true)
    }
    await at(0)
    for (let i = 0; i < 40 && engine.stats().waiting['registration'] !== 0; i++) {
      for (const offer of offered()) await book(offer)
      await clock.advance(500)
    }
    for (const offer of offered()) await book(offer)
    expect(engine.view.dispatchKeys()).toHaveLength(3)
    await at(200_000)
    expect(engine.view.dispatchKeys()).toHaveLength(3)
    expect(new Set((await lanes()).map(({ lane }) => lane)).size).toBe(5)
    await at(270_000)
    expect(engine.view.dispatchKeys()).toEqual([])
    expect(engine.view.sessions()).toEqual([])
    expect(await lanes()).toEqual([])
  })

  it('ENGINE-4: what is forgotten stays so over a restart, and the rows are the same', async () => {
    const run = async (on: MemoryStore, isRestarted: boolean): Promise<string> => {
      store = on
      clock = new TestClock(START)
      let drawn = 0
      const random = () => new Uint8Array(32).fill(++drawn)
      const open = async () => {
        engine = await openEngine({ store, clock, policy: SOON, random })
      }
      await open()
      await engine.registerProvider(SIGNUP, OFFER)
      const jobs = [await signUp('u1'), await signUp('u2', { org: 'south', at: OPENS + 1 })]
      await engine.cancel(await signUp('u3', { platform: 'keyed' }), ACME)
      await at(5)
      for (const job of jobs) await engine.cancel(job, ACME)
      await at(300_000)
      expect(await lanes()).toEqual([])
      // A commit of its own, so that nothing is away for the time since the last one.
      await engine.heartbeat(SIGNUP)
      if (isRestarted) {
        await engine.close()
        await open()
      }
      await signUp('u4', { at: OPENS + 310_000 })
      await at(390_000)
      await engine.heartbeat(SIGNUP)
      expect(engine.view.sessions()).toHaveLength(1)
      const hash = await stateHash(store)
      await engine.close()
      return hash
    }
    await engine.close()
    expect(await run(new MemoryStore(), true)).toBe(await run(new MemoryStore(), false))
  })

  it('counts what waits by what holds it', async () => {
    for (const user of ['u1', 'u2', 'u3', 'u4']) await signUp(user)
    const census = () => engine.view.census().queues.find(({ kind }) => kind === 'registration')
    expect(census()).toMatchObject({ notOpen: 4, ready: 0, oldestAt: null })
    await at(0)
    expect(census()).toMatchObject({ notOpen: 0, pacing: 3 })
    await at(60)
    const [first] = offered()
    await engine.fail({ ...holder(first as LeaseOffer), code: 'x', permanent: false, http: 503 })
    expect(census()).toMatchObject({ pacing: 2, backoff: 1, budget: 0, oldestAt: OPENS })
    await at(200)
    await engine.heartbeat(SIGNUP)
    expect(census()).toMatchObject({ pacing: 0, backoff: 1, budget: 1 })
    await engine.updateProvider(SIGNUP, { platforms: new Set() })
    await at(400)
    await engine.heartbeat(SIGNUP)
    expect(census()).toMatchObject({ backoff: 0, budget: 2, noProvider: 0 })
    for (const offer of offered()) await book(offer)
    expect(census()).toMatchObject({ budget: 0, noProvider: 2 })
    expect(engine.stats().waiting['registration']).toBe(2)
  })
})

describe('who may join', () => {
  it('SESSION-9: a session has one opening; another time is refused, but for an operator', async () => {
    await signUp('u1')
    await expect(signUp('u2', { at: OPENS - 1 })).rejects.toMatchObject({
      code: 'InvalidParams',
      details: { field: 'scheduled_time' },
    })
    await expect(signUp('u2', { at: OPENS - 1 }, true)).resolves.toMatch(/^0x/)
    await engine.setOpening({ platform: 'plain', orgRef: 'north', eventId: 'ski' }, OPENS + 5)
    await expect(signUp('u3', { event: 'ski' })).rejects.toMatchObject({ code: 'InvalidParams' })
    await expect(signUp('u3', { event: 'ski', at: OPENS + 5 })).resolves.toMatch(/^0x/)
  })

  it.each([Number.NaN, -1, 1.5, 9e15])(
    'SESSION-9: a session cannot open at %s',
    async (opensAt) => {
      const session = { platform: 'plain', orgRef: 'north', eventId: 'ski' }
      await expect(engine.setOpening(session, opensAt)).rejects.toMatchObject({
        code: 'InvalidParams',
        details: { field: 'opens_at' },
      })
      expect(engine.view.opensAt(session)).toBeNull()
    },
  )

  it('SESSION-9: a session that is moved takes those in line along, in their order, over a restart', async () => {
    const jobs = [await signUp('u1'), await signUp('u2')]
    const own = await signUp('u3', { at: OPENS + 500 }, true)
    const swim = { platform: 'plain', orgRef: 'north', eventId: 'swim' }
    await engine.setOpening(swim, OPENS + 2_000)
    jobs.push(await signUp('u4', { at: OPENS + 2_000 }))
    await engine.close()
    engine = await openEngine({ store, clock })
    worker = await ManualWorker.connect(engine, SIGNUP, { id: 'w-1', slots: 10 })
    await at(400)
    expect(offered()).toEqual([])
    // One that an operator gave a time of its own keeps it.
    await at(500)
    const [first] = offered()
    expect(first?.jobId).toBe(own)
    await book(first as LeaseOffer)
    await at(1_999)
    expect(offered()).toEqual([])
    await at(2_050)
    expect(offered()).toMatchObject([
      { jobId: jobs[0], rank: 0, tStart: OPENS + 2_000 },
      { jobId: jobs[1], rank: 1, tStart: OPENS + 2_050 },
    ])
    const moves = (await engine.timeline(jobs[0] as JobId)).map(({ action }) => action)
    expect(moves).toEqual(['jobEnqueued', 'jobRescheduled', 'jobAssigned'])
    // Ranks never move.
    await expect(engine.setOpening(swim, OPENS + 9_000)).rejects.toMatchObject({
      code: 'InvalidState',
      details: { opensAt: OPENS + 2_000 },
    })
  })

  it('SESSION-9: moved to a time that has come, a session opens at once; lives move with it', async () => {
    await engine.setPolicy({ queue: { ttl: { abs_default_registration_secs: 10 } } })
    const jobs = [await signUp('u1'), await signUp('u2')]
    const swim = { platform: 'plain', orgRef: 'north', eventId: 'swim' }
    const life = 10_000
    await expect(engine.setOpening(swim, clock.now() - life)).rejects.toMatchObject({
      code: 'InvalidParams',
      details: { field: 'opens_at' },
    })
    await engine.setOpening(swim, clock.now() + 90_000)
    await clock.advance(80_000)
    expect((await engine.getJob(jobs[0] as JobId)).status).toBe('QUEUED')
    await engine.setOpening(swim, clock.now() - 1_000)
    await clock.settle()
    expect(offered().map(({ jobId, rank }) => [jobId, rank])).toEqual([
      [jobs[0], 0],
      [jobs[1], 1],
    ])
    const late = await signUp('u3', { at: clock.now() + 1 }, true)
    await clock.advance(life)
    expect((await engine.getJob(late)).status).toBe('EXPIRED')
  })

  it('SESSION-9: a session that opened longer ago than a registration lives is over', async () => {
    await engine.setPolicy({ queue: { ttl: { abs_default_registration_secs: 10 } } })
    await signUp('u1')
    await at(9_990)
    await signUp('u2')
    await at(10_000)
    await expect(signUp('u3')).rejects.toMatchObject({
      code: 'InvalidParams',
      message: expect.stringContaining('this session is over'),
    })
  })

  it('SESSION-11: an operator moves a session that its first registration has opened, over a restart', async () => {
    const opened = clock.now() + 100
    const jobs: JobId[] = []
    for (const user of ['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7']) {
      jobs.push(await signUp(user, { at: opened }))
    }
    await clock.advance(opened - clock.now())
    // The default is two attempts at a time: the first two are under way, the others have ranks alone.
    const sent = offered()
    expect(sent.map(({ jobId, rank }) => [jobId, rank])).toEqual([[jobs[0], 0]])
    const swim = { platform: 'plain', orgRef: 'north', eventId: 'swim' }
    await engine.setOpening(swim, OPENS, { actor: 'token:o' })
    await book(sent[0] as LeaseOffer)
    await clock.advance(1_000)
    expect(offered()).toEqual([])
    await engine.close()
    engine = await openEngine({ store, clock })
    worker = await ManualWorker.connect(engine, SIGNUP, { id: 'w-1', slots: 10 })
    expect(engine.view.sessionEntries(swim).map(({ jobId, rank }) => [jobId, rank])).toEqual(
      jobs.slice(1).map((jobId) => [jobId, null]),
    )
    expect(engine.view.sessionPlace(swim, jobs[3] as JobId)).toEqual({ place: 3, of: 6 })
    await at(0)
    expect(offered()).toMatchObject([{ jobId: jobs[1], rank: 0, tStart: OPENS }])
    const moves = (await engine.timeline(jobs[1] as JobId)).map(({ action }) => action)
    expect(moves).toEqual(['jobEnqueued', 'jobRescheduled', 'jobAssigned'])
    // What an operator has said holds.
    await expect(engine.setOpening(swim, OPENS + 9_000)).rejects.toMatchObject({
      code: 'InvalidState',
    })
  })

  it('SESSION-11: moved to another time that has come, they get their ranks at once', async () => {
    const opened = clock.now() + 100
    const jobs: JobId[] = []
    for (const user of ['u1', 'u2', 'u3']) jobs.push(await signUp(user, { at: opened }))
    await clock.advance(opened - clock.now())
    offered()
    const swim = { platform: 'plain', orgRef: 'north', eventId: 'swim' }
    await engine.setOpening(swim, opened - 50)
    expect(engine.view.sessionEntries(swim).map(({ jobId, rank }) => [jobId, rank])).toEqual([
      [jobs[1], 0],
      [jobs[2], 1],
      [jobs[0], 0],
    ])
  })

  it('SESSION-11: with defined_only an operator alone creates a session', async () => {
    await engine.setPolicy({ ...POLICY, signup: { sessions: 'defined_only' } })
    await expect(signUp('u1')).rejects.toMatchObject({
      code: 'InvalidParams',
      details: { field: 'event_id' },
    })
    await engine.setOpening({ platform: 'plain', orgRef: 'north', eventId: 'swim' }, OPENS)
    await expect(signUp('u1')).resolves.toMatch(/^0x/)
    await expect(signUp('u1', { event: 'ski' }, true)).resolves.toMatch(/^0x/)
    await expect(signUp('u2', { event: 'ski' })).resolves.toMatch(/^0x/)
  })

  it('SESSION-10: callers have users of their own, also after a restart and a change of the policy', async () => {
    const caller = callerOf('other')
    const job = await signUp('u1')
    const others = await signUp('u1', { caller })
    await engine.close()
    engine = await openEngine({ store, clock })
    worker = await ManualWorker.connect(engine, SIGNUP, { id: 'w-1', slots: 10 })
    const refusedBy = (jobId: JobId) => ({ code: 'IdempotencyConflict', details: { jobId } })
    await expect(signUp('u1')).rejects.toMatchObject(refusedBy(job))
    await expect(signUp('u1', { caller })).rejects.toMatchObject(refusedBy(others))
    await engine.cancel(others, caller)
    await expect(signUp('u1')).rejects.toMatchObject(refusedBy(job))
    await engine.setPolicy({ ...POLICY, signup: { shared_users: true } })
    await expect(signUp('u1', { caller })).rejects.toMatchObject(refusedBy(job))
    await engine.setPolicy(POLICY)
    await expect(signUp('u1', { caller })).resolves.toMatch(/^0x/)
  })

  it('SESSION-10: who may have booked keeps the place until somebody knows better', async () => {
    const first = await signUp('u1')
    await at(0)
    const [offer] = offered()
    await engine.ack(holder(offer as LeaseOffer))
    const failure = { code: 'timeout', permanent: false, isUnknown: true }
    await engine.fail({ ...holder(offer as LeaseOffer), ...failure })
    expect(await engine.getJob(first)).toMatchObject({
      status: 'FAILED',
      reason: 'outcome_unknown',
    })
    await engine.close()
    engine = await openEngine({ store, clock })
    worker = await ManualWorker.connect(engine, SIGNUP, { id: 'w-1', slots: 10 })
    await expect(signUp('u1')).rejects.toMatchObject({
      code: 'IdempotencyConflict',
      details: { field: 'user_id', jobId: first },
    })
    const swim = { platform: 'plain', orgRef: 'north', eventId: 'swim' }
    const other = `0x${'9'.repeat(64)}` as typeof ACME
    await expect(engine.releasePlace(swim, first, other)).rejects.toMatchObject({
      code: 'Forbidden',
    })
    expect(await engine.releasePlace(swim, first, ACME)).toBe(true)
    expect(await engine.releasePlace(swim, first, ACME)).toBe(false)
    expect((await engine.timeline(first)).at(-1)).toMatchObject({ action: 'placeReleased' })
    const second = await signUp('u1')
    await clock.advance(100)
    await book(offered()[0] as LeaseOffer)
    await expect(engine.releasePlace(swim, second, ACME)).rejects.toMatchObject({
      code: 'InvalidState',
    })
  })

  it('SESSION-10: so does one whose life ends with an attempt under way', async () => {
    await signUp('u1')
    await at(0)
    const [offer] = offered()
    await engine.ack(holder(offer as LeaseOffer))
    await engine.setPolicy({ queue: { ttl: { abs_default_registration_secs: 1 } } })
    await at(1_000)
    expect((await engine.getJob(offer?.jobId as JobId)).status).toBe('EXPIRED')
    await engine.setPolicy({})
    await expect(signUp('u1')).rejects.toMatchObject({ code: 'IdempotencyConflict' })
  })

  it('SESSION-9: a time in the past is for a session that is already open', async () => {
    await expect(signUp('u1', { at: START })).rejects.toMatchObject({ code: 'InvalidParams' })
    await signUp('u1')
    await at(5)
    await expect(signUp('u2')).resolves.toMatch(/^0x/)
  })

  it('SESSION-9: one that is signed up for in the moment of its opening is open at once', async () => {
    await at(-1)
    const job = await signUp('u1')
    await at(0)
    expect(offered()).toMatchObject([{ jobId: job, task: 'book' }])
  })

  it('SESSION-10: a user has one place in a session, also after having booked, not after a failure', async () => {
    const job = await signUp('u1')
    const again = { code: 'IdempotencyConflict', details: { jobId: job } }
    await expect(signUp('u1')).rejects.toMatchObject(again)
    await expect(signUp('u1', { at: OPENS + 1 }, true)).rejects.toMatchObject(again)
    await at(0)
    await book(offered()[0] as LeaseOffer)
    await expect(signUp('u1')).rejects.toMatchObject(again)
    const other = await signUp('u2')
    await engine.cancel(other, ACME)
    await expect(signUp('u2')).resolves.not.toBe(other)
  })
})

describe('outcomes', () => {
  it('ATTEMPT-8: unacked was not sent: it is tried again', async () => {
    const job = await signUp('u1')
    await at(0)
    offered()
    await at(5_000)
    expect(await engine.getJob(job)).toMatchObject({ status: 'QUEUED', retries: 1 })
    await at(5_250)
    expect(offered()).toMatchObject([{ jobId: job, task: 'book', attempt: 1 }])
  })

  it('ATTEMPT-5: acked and lost could have booked: without key or lookup the job ends', async () => {
    const job = await signUp('u1')
    await at(0)
    await engine.ack(holder(offered()[0] as LeaseOffer))
    await worker.session.close()
    await at(2_000)
    expect(await engine.getJob(job)).toMatchObject({ status: 'FAILED', reason: 'outcome_unknown' })
  })

  it('ATTEMPT-5: with an idempotency key it is sent again under the same one', async () => {
    await signUp('u1', { platform: 'keyed' })
    await at(0)
    const [first] = offered()
    await engine.ack(holder(first as LeaseOffer))
    await engine.fail({
      ...holder(first as LeaseOffer),
      code: 'timeout',
      permanent: false,
      isUnknown: true,
    })
    await at(250)
    const [second] = offered()
    expect(second?.idempotencyKey).toBe(first?.idempotencyKey)
  })

  it.each([
    ['booked', { status: 'COMPLETED', reason: null }],
    ['not_booked', { status: 'QUEUED' }],
    ['failed', { status: 'FAILED', reason: 'outcome_unknown' }],
  ] as const)('ATTEMPT-9: somebody is sent to look, and finds %s', async (lookup, expected) => {
    const job = await signUp('u1', { platform: 'asks' })
    await at(0)
    await engine.ack(holder(offered()[0] as LeaseOffer))
    await worker.session.close()
    const other = await ManualWorker.connect(engine, SIGNUP, { id: 'w-2', slots: 10 })
    await at(2_000)
    const [look] = offered(other)
    expect(look).toMatchObject({ jobId: job, task: 'lookup', attempt: 1 })
    const by = { leaseId: (look as LeaseOffer).leaseId, by: SIGNUP, workerId: other.id }
    await engine.ack(by)
    await engine.fail({ ...by, code: 'looked', permanent: false, lookup })
    expect(await engine.getJob(job)).toMatchObject(expected)
    if (lookup === 'booked') expect((await engine.getResult(job)).output).not.toBeNull()
  })

  it('ATTEMPT-9: a look that told nothing is made again, after a wait, and its 429 counts', async () => {
    const job = await signUp('u1', { platform: 'asks' })
    await at(0)
    const [first] = offered()
    await engine.ack(holder(first as LeaseOffer))
    // The request was lost, and so was the first look.
    const lost = { code: 'timeout', permanent: false, isUnknown: true }
    await engine.fail({ ...holder(first as LeaseOffer), ...lost, http: 503 })
    await clock.settle()
    const [look] = offered()
    expect(look).toMatchObject({ jobId: job, task: 'lookup' })
    const rate = () => engine.view.dispatchKey({ platform: 'asks', orgRef: 'north' }).rate
    expect(rate()).toBe(2)
    await engine.fail({ ...holder(look as LeaseOffer), ...lost, http: 429, retryAfterMs: 3_000 })
    expect(rate()).toBe(1)
    await at(2_999)
    expect(offered()).toEqual([])
    expect(engine.view.waitReason(job)).toBe('backoff')
    await at(3_000)
    const [again] = offered()
    expect(again).toMatchObject({ jobId: job, task: 'lookup' })
    await engine.fail({ ...holder(again as LeaseOffer), ...lost })
    // Without a wait asked for, that of the late retries.
    await at(4_999)
    expect(offered()).toEqual([])
    await at(5_000)
    expect(offered()).toMatchObject([{ jobId: job, task: 'lookup' }])
    // Until its time is over.
    await worker.session.close()
    await at(121_000)
    expect(await engine.getJob(job)).toMatchObject({ status: 'FAILED', reason: 'outcome_unknown' })
  })

  it('ATTEMPT-5: a hold that is refused says nothing of a commit that was lost before', async () => {
    await engine.setPolicy({
      sessions: { platforms: { keyed: { idempotency_key_supported: true, window_ms: 600 } } },
    })
    const job = await signUp('u1', { platform: 'keyed' })
    await at(0)
    const [first] = offered()
    const lost = { code: 'timeout', permanent: false, isUnknown: true }
    await engine.ack(holder(first as LeaseOffer))
    await engine.fail({ ...holder(first as LeaseOffer), ...lost })
    await at(250)
    const [second] = offered()
    await engine.ack(holder(second as LeaseOffer))
    const refused = { code: 'sold_out', permanent: true, http: 409, isUnsent: true }
    await engine.fail({ ...holder(second as LeaseOffer), ...refused })
    expect(await engine.getJob(job)).toMatchObject({ status: 'FAILED', reason: 'outcome_unknown' })
    // Where nothing is open it is an answer like any other.
    const fresh = await signUp('u2', { platform: 'keyed', at: clock.now() + 1_000, event: 'sail' })
    await clock.advance(1_000)
    const [only] = offered()
    await engine.ack(holder(only as LeaseOffer))
    await engine.fail({ ...holder(only as LeaseOffer), ...refused })
    expect(await engine.getJob(fresh)).toMatchObject({ status: 'FAILED', reason: 'sold_out' })
  })

  it('BUDGET-4: a 429 slows the dispatch key down, and its Retry-After pauses it', async () => {
    await signUp('u1')
    const second = await signUp('u2')
    await at(0)
    const [first] = offered()
    await engine.ack(holder(first as LeaseOffer))
    const busy = { code: 'busy', permanent: false, http: 429, retryAfterMs: 3_000 }
    await engine.fail({ ...holder(first as LeaseOffer), ...busy })
    await at(2_999)
    expect(offered()).toEqual([])
    expect(engine.view.waitReason(second)).toBe('budget')
    await at(3_000)
    expect(offered()).toHaveLength(1)
  })

  it('BUDGET-5: a Retry-After beyond all measure pauses, and harms nothing else', async () => {
    const job = await signUp('u1')
    const other = await signUp('u2', { org: 'south' })
    await at(0)
    for (const offer of offered()) {
      const isFirst = offer.jobId === job
      const busy = { code: 'busy', permanent: false, http: 429, retryAfterMs: 2 ** 53 - 1 }
      if (isFirst) await engine.fail({ ...holder(offer), ...busy })
      else await book(offer)
    }
    expect(await engine.getJob(job)).toMatchObject({ reason: 'retry_window_exhausted' })
    expect(await engine.getJob(other)).toMatchObject({ status: 'COMPLETED' })
    const { pausedUntil } = engine.view.dispatchKey({ platform: 'plain', orgRef: 'north' })
    expect(pausedUntil).toBe(OPENS + 366 * 86_400_000)
  })

  it('ATTEMPT-7: a cancel while it waits for its retry is looked up, and no retry is shown any more', async () => {
    await engine.setPolicy({
      sessions: {
        platforms: { keyed: { idempotency_key_supported: true, lookup_supported: true } },
      },
    })
    const job = await signUp('u1', { platform: 'keyed' })
    await at(0)
    const [first] = offered()
    await engine.ack(holder(first as LeaseOffer))
    const lost = { code: 'timeout', permanent: false, isUnknown: true }
    await engine.fail({ ...holder(first as LeaseOffer), ...lost })
    expect((await engine.getJob(job)).notBefore).toBe(OPENS + 250)
    await engine.cancel(job, ACME)
    await clock.settle()
    expect(offered()).toMatchObject([{ jobId: job, task: 'lookup' }])
    expect((await engine.getJob(job)).notBefore).toBeNull()
  })

  it('ATTEMPT-6: a cancel while the request may be under way waits for its outcome', async () => {
    const job = await signUp('u1')
    await at(0)
    const [first] = offered()
    await engine.ack(holder(first as LeaseOffer))
    await engine.cancel(job, ACME)
    expect((await engine.getJob(job)).status).toBe('RUNNING')
    await engine.fail({ ...holder(first as LeaseOffer), code: 'x', permanent: false, http: 503 })
    expect((await engine.getJob(job)).status).toBe('CANCELED')
    const actions = (await engine.timeline(job)).map(({ action }) => action)
    expect(actions).toContain('jobCancelNoted')
  })

  it('HEALTH-5: nothing that a platform answers touches the worker', async () => {
    await signUp('u1')
    await at(0)
    const [first] = offered()
    const before = engine.view.provider(SIGNUP)?.health
    await engine.fail({ ...holder(first as LeaseOffer), code: 'sold_out', permanent: true })
    expect(engine.view.provider(SIGNUP)).toMatchObject({ health: before, failures: 0 })
  })

  it('TTL-1: a registration lives for its time after its scheduled time', async () => {
    await worker.session.close()
    await engine.setPolicy({ queue: { ttl: { abs_default_registration_secs: 20 } } })
    const job = await signUp('u1')
    await at(19_999)
    expect((await engine.getJob(job)).status).toBe('QUEUED')
    await at(20_000)
    expect(await engine.getJob(job)).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs' })
  })
})
