import { type Caller, callerOf, type JobId, type LeaseOffer, type ProviderId } from '@fairlead/core'
import { isoUtc, NO_ROWS, ROUNDS_KEPT } from '@fairlead/core/internal'
import {
  type AssignedExplanation,
  type Engine,
  explanationText,
  openEngine,
  type RoundExplanation,
  type WaitingExplanation,
} from '@fairlead/engine'
import { TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HeldStore } from './held-store.ts'
import { ManualWorker } from './manual-worker.ts'

const START = 1_760_000_000_000
const ACME: Caller = callerOf('acme')
const DIGEST = `0x${'d'.repeat(64)}`
const TASK = { kind: 'task', payload: { name: 'resize', args: { width: 640 } } }
const AI = { kind: 'ai', payload: { model: 'm', prompt: '0x', max_tokens: 100 } }
const OFFER = { capabilities: new Set(['task', 'ai'] as const), models: new Set(['*']) }
const SCORE = { match: { fairness: 'score' } }

let store: HeldStore
let clock: TestClock
let engine: Engine

beforeEach(async () => {
  store = new HeldStore()
  clock = new TestClock(START)
  // The seeds of the rounds come from the first draw, so the orders of providers are always the same.
  let draws = 0
  const random = () => {
    const drawn = Buffer.alloc(32)
    drawn.writeUInt32BE(++draws)
    return drawn
  }
  engine = await openEngine({ store, clock, random })
})
afterEach(() => engine.close())

/** A provider with one worker of so many slots. */
async function provider(name: string, slots: number): Promise<ManualWorker> {
  const id = providerId(name)
  await engine.registerProvider(id, OFFER)
  return ManualWorker.connect(engine, id, { id: `w-${name}`, slots })
}

function providerId(name: string): ProviderId {
  return `provider:${name}` as ProviderId
}

async function enqueue(request: object = TASK): Promise<JobId> {
  const jobId = await engine.enqueue({ ...request }, { caller: ACME })
  await clock.settle()
  return jobId
}

async function waiting(jobId: JobId): Promise<WaitingExplanation> {
  const explanation = await engine.explain(jobId)
  if (!('providers' in explanation)) throw new Error(`job ${jobId} is ${explanation.job.status}`)
  return explanation
}

async function assigned(jobId: JobId): Promise<AssignedExplanation> {
  const explanation = await engine.explain(jobId)
  if ('providers' in explanation) throw new Error(`job ${jobId} waits`)
  return explanation
}

/** The rounds of its attempts; each is still kept. */
async function roundsOf(jobId: JobId): Promise<RoundExplanation[]> {
  const { attempts } = await assigned(jobId)
  return attempts.flatMap(({ round }) => round ?? [])
}

function holder({ leaseId, providerId: by }: LeaseOffer) {
  return { leaseId, by }
}

async function textOf(jobId: JobId): Promise<string[]> {
  return explanationText(await engine.explain(jobId)).split('\n')
}

describe('an assigned job', () => {
  it('EXPLAIN-4: has the round of its lease, its seed, the order and the place of its provider', async () => {
    const workers = [await provider('a', 1), await provider('b', 1)]
    const first = await enqueue()
    const second = await enqueue()
    const [one, two] = [...(await roundsOf(first)), ...(await roundsOf(second))]
    const leases = await Promise.all([first, second].map((id) => engine.view.read.leases(id)))
    const heights = leases.flat().map(({ round }) => round)
    expect([one?.height, two?.height]).toEqual(heights)
    expect(one?.seed).not.toBe(two?.seed)
    const kept = await engine.view.read.round(heights[1] as number, 'task')
    const { providers } = two as RoundExplanation
    const by = workers.find(({ offers }) => offers.some(({ jobId }) => jobId === second))
    const place = providers.indexOf(by?.offered.providerId as ProviderId) + 1
    expect(two).toMatchObject({ at: START, seed: kept?.seed, batchSize: 1, order: 'first-fit' })
    expect(two).toMatchObject({ providers: kept?.providers, place })
    expect(providers).toHaveLength(2)
    expect(await assigned(second)).toMatchObject({ at: START, waitReason: null, end: null })
  })

  it('EXPLAIN-5: names who was passed over, and why', async () => {
    await provider('a', 1)
    await provider('b', 1)
    await provider('c', 9)
    await engine.updateProvider(providerId('b'), { models: new Set(['other']) })
    const jobs: JobId[] = []
    for (let i = 0; i < 9; i++) jobs.push(await enqueue())
    const refusals = { 'provider:a': 'lease_cap_reached', 'provider:b': 'model_unsupported' }
    let passed = 0
    // From the second job on a is full, so all who stand before the one chosen refuse.
    for (const jobId of jobs) {
      const [{ providers, place, passedOver }] = (await roundsOf(jobId)) as [RoundExplanation]
      const before = providers.slice(0, (place as number) - 1)
      expect(passedOver).toEqual(
        before.map((id) => ({ providerId: id, refusal: refusals[id as keyof typeof refusals] })),
      )
      passed += before.length
    }
    expect(passed).toBeGreaterThan(0)
  })

  it('EXPLAIN-4: each attempt has its own round, and the waits between are explained as such', async () => {
    const a = await provider('a', 1)
    const jobId = await enqueue()
    await engine.fail({ ...holder(a.offered), code: 'oom', permanent: false })
    const backoff = await waiting(jobId)
    expect(backoff).toMatchObject({ waitReason: 'backoff', job: { status: 'QUEUED', retries: 1 } })
    await clock.advance((backoff.notBefore as number) - START)
    const { attempts, attemptsBefore } = await assigned(jobId)
    expect(attempts.map(({ lease }) => [lease.attempt, lease.status])).toEqual([
      [0, 'CANCELLED'],
      [1, 'ACTIVE'],
    ])
    expect(attemptsBefore).toBe(0)
    const [one, two] = await roundsOf(jobId)
    expect(one?.at).toBe(START)
    expect(two?.at).toBe(backoff.notBefore)
    expect(two?.height).toBeGreaterThan(one?.height as number)
  })

  it('EXPLAIN-4: whose proof is awaited says so, and keeps its attempt', async () => {
    // A policy that an engine does not take yet, but that a store may have.
    await engine.close()
    const policy = JSON.stringify({ queue: { completion: { ai_verification: 'proof' } } })
    await store.tables.apply({ ...NO_ROWS, meta: { policy } }, store.log.end.batch)
    engine = await openEngine({ store, clock })
    const a = await provider('a', 1)
    const jobId = await enqueue(AI)
    await engine.complete({ ...holder(a.offered), digest: DIGEST })
    await clock.advance(12_000)
    const explained = await assigned(jobId)
    expect(explained).toMatchObject({ waitReason: 'proof', end: null })
    expect(explained.attempts).toMatchObject([{ lease: { status: 'COMPLETED' } }])
    expect((await textOf(jobId)).at(-1)).toBe(
      `Its proof is awaited for 12 s, since ${isoUtc(START)}.`,
    )
  })

  it('EXPLAIN-4: after a restart it is explained as before', async () => {
    await provider('a', 1)
    const jobId = await enqueue()
    const before = await assigned(jobId)
    await engine.close()
    engine = await openEngine({ store, clock })
    const after = await assigned(jobId)
    expect(after.attempts[0]?.round).toEqual(before.attempts[0]?.round)
  })

  it('EXPLAIN-4: a round that is forgotten is null', async () => {
    const a = await provider('a', 1)
    const old = await enqueue()
    await engine.complete({ ...holder(a.offered), digest: DIGEST })
    for (let i = 0; i < ROUNDS_KEPT; i++) {
      await enqueue()
      await engine.complete({ ...holder(a.offered), digest: DIGEST })
    }
    expect((await assigned(old)).attempts).toMatchObject([{ lease: { attempt: 0 }, round: null }])
    expect(await textOf(old)).toContain('Attempt 0: its round is no longer kept.')
  })

  it('EXPLAIN-7: is explained as assigned only once that is written', async () => {
    await provider('a', 1)
    await engine.setProviderStatus(providerId('a'), 'JAILED')
    const jobId = await enqueue()
    store.isHolding = true
    const freed = engine.setProviderStatus(providerId('a'), 'ACTIVE')
    await clock.settle()
    // A round has taken it by now, and the log does not know yet.
    expect((await engine.getJob(jobId)).status).toBe('QUEUED')
    let explained: unknown = null
    const asked = engine.explain(jobId).then((explanation) => {
      explained = explanation
    })
    await clock.settle()
    expect(explained).toBeNull()
    await store.letGo()
    await Promise.all([freed, asked])
    expect(explained).toMatchObject({ job: { status: 'ASSIGNED' }, attempts: [{}] })
  })
})

describe('a job that is over', () => {
  it('EXPLAIN-4: has its end, and the digest of its result', async () => {
    const a = await provider('a', 1)
    const jobId = await enqueue()
    await clock.advance(1_000)
    await engine.complete({ ...holder(a.offered), digest: DIGEST })
    expect((await assigned(jobId)).end).toEqual({
      status: 'COMPLETED',
      reason: null,
      endedAt: START + 1_000,
      digest: DIGEST,
    })
  })

  it('EXPLAIN-4: that failed has its reason and no digest', async () => {
    const a = await provider('a', 1)
    const jobId = await enqueue()
    await engine.fail({ ...holder(a.offered), code: 'invalid_input', permanent: true })
    const reason = 'permanent_error'
    const end = { status: 'FAILED', reason, endedAt: START, digest: null }
    expect((await assigned(jobId)).end).toEqual(end)
  })

  it('EXPLAIN-4: without ever having been assigned has no attempts', async () => {
    const jobId = await enqueue()
    await engine.cancel(jobId, ACME)
    const end = { status: 'CANCELED', reason: null, endedAt: START, digest: null }
    expect(await assigned(jobId)).toMatchObject({ attempts: [], attemptsBefore: 0, end })
  })

  it('EXPLAIN-4: a job that nobody knows is NotFound', async () => {
    const explained = engine.explain(`0x${'0'.repeat(64)}` as JobId)
    await expect(explained).rejects.toMatchObject({ code: 'NotFound' })
  })
})

describe('in words', () => {
  it('EXPLAIN-6: a job that waits for a free slot', async () => {
    await engine.setPolicy(SCORE)
    const a = await provider('a', 4)
    await provider('b', 1)
    await engine.updateProvider(providerId('b'), { capabilities: new Set(['ai'] as const) })
    for (let i = 0; i < 5; i++) await enqueue()
    for (const offer of a.offers) await engine.ack(holder(offer))
    const jobId = await enqueue()
    await clock.advance(12_000)
    const { score, terms } = await waiting(jobId)
    expect(await textOf(jobId)).toEqual([
      `Job ${jobId} (task "resize"): waiting 12 s (since 2025-10-09T08:53:20.000Z).`,
      'No provider fits it now.',
      '2nd of 2 in the queue of kind task.',
      `Its score is ${score.toFixed(4)}: fee 0, size ${terms.size.toLocaleString('en')}, tier 0 of 1,000,000 each, age 12 s.`,
      'provider:a: lease_cap_reached – all its 4 slots are taken.',
      'provider:b: capability_missing – it does not take jobs of this kind.',
      'The earliest time it can run: not known.',
    ])
  })

  it('EXPLAIN-6: a job in backoff', async () => {
    const a = await provider('a', 1)
    const jobId = await enqueue()
    await engine.decline(holder(a.offered))
    await clock.advance(30_000)
    await engine.fail({ ...holder(a.offered), code: 'oom', permanent: false })
    const { notBefore } = await waiting(jobId)
    const inSecs = ((notBefore as number) - START - 30_000) / 1_000
    expect(await textOf(jobId)).toEqual([
      `Job ${jobId} (task "resize"): waiting 30 s (since 2025-10-09T08:53:20.000Z).`,
      `It is in backoff after 1 failed attempt: not before ${isoUtc(notBefore as number)}, in ${inSecs} s.`,
      "1st of 1 in its requester's queue of kind task.",
      'provider:a: would fit.',
      'Attempt 0: given to provider:a at 2025-10-09T08:53:20.000Z, was declined.',
      'Attempt 1: given to provider:a at 2025-10-09T08:53:50.000Z, failed with oom.',
      `The earliest time it can run: ${isoUtc(notBefore as number)}, in ${inSecs} s.`,
    ])
  })

  it('EXPLAIN-6: a job without a provider, or whose provider cools down', async () => {
    await engine.setPolicy({ registry: { min_stake: { ai: 0 } } }, 'fund')
    const jobId = await enqueue()
    expect(await textOf(jobId)).toContain('There is no provider at all.')
    const a = await provider('a', 1)
    await engine.decline(holder(a.offered))
    await clock.advance(10_000)
    expect((await textOf(jobId)).slice(-3)).toEqual([
      'provider:a: class_cooling_down – it declined a job like this one a short time ago, until 2025-10-09T08:53:50.000Z (for 20 s).',
      'Attempt 0: given to provider:a at 2025-10-09T08:53:20.000Z, was declined.',
      'The earliest time it can run: 2025-10-09T08:53:50.000Z, in 20 s.',
    ])
    await clock.advance(19_999)
    expect(await waiting(jobId)).toMatchObject({ earliestAt: START + 30_000 })
    await clock.advance(1)
    expect(await assigned(jobId)).toMatchObject({ job: { status: 'ASSIGNED' } })
  })

  it('EXPLAIN-6: a job that was done at the second attempt', async () => {
    const a = await provider('a', 1)
    const jobId = await enqueue()
    await engine.fail({ ...holder(a.offered), code: 'oom', permanent: false })
    const { notBefore } = await waiting(jobId)
    const again = notBefore as number
    await engine.registerProvider(providerId('b'), { ...OFFER, models: new Set(['other']) })
    await clock.advance(again - START)
    await clock.advance(1_000)
    await engine.complete({ ...holder(a.offered), digest: DIGEST })
    const [one, two] = (await roundsOf(jobId)) as [RoundExplanation, RoundExplanation]
    const order = 'shuffled by the seed, and the first that fits takes the job'
    expect(await textOf(jobId)).toEqual([
      `Job ${jobId} (task "resize") is COMPLETED; it was enqueued at 2025-10-09T08:53:20.000Z.`,
      'Attempt 0: given to provider:a at 2025-10-09T08:53:20.000Z, failed with oom.',
      `Attempt 0: round ${one.height} with 1 job in its batch, seed ${one.seed}.`,
      `Attempt 0: order of the providers (${order}): provider:a.`,
      'Attempt 0: provider:a was asked as number 1.',
      'Attempt 0: nobody was passed over.',
      `Attempt 1: given to provider:a at ${isoUtc(again)}, completed (COMPLETED).`,
      `Attempt 1: round ${two.height} with 1 job in its batch, seed ${two.seed}.`,
      `Attempt 1: order of the providers (${order}): provider:b, provider:a.`,
      'Attempt 1: provider:a was asked as number 2.',
      'Attempt 1: provider:b was passed over: model_unsupported – it does not offer what the job asks for by name.',
      `It ended COMPLETED at ${isoUtc(again + 1_000)}, ${(again + 1_000 - START) / 1_000} s after it was enqueued.`,
      `The digest of its result is ${DIGEST}.`,
    ])
  })

  it('EXPLAIN-6: a job that was never assigned, and one that ran out of time', async () => {
    const [canceled, expired] = [await enqueue(), await enqueue({ ...TASK, ttl_abs_secs: 60 })]
    await engine.cancel(canceled, ACME)
    expect(await textOf(canceled)).toEqual([
      `Job ${canceled} (task "resize") is CANCELED; it was enqueued at 2025-10-09T08:53:20.000Z.`,
      'It was never assigned.',
      'It ended CANCELED at 2025-10-09T08:53:20.000Z, 0 s after it was enqueued.',
    ])
    await clock.advance(60_000)
    expect((await textOf(expired)).at(-1)).toBe(
      'It ended EXPIRED at 2025-10-09T08:54:20.000Z, 1 min after it was enqueued: ttl_abs – it was not done within the time that it had from its acceptance.',
    )
  })
})
