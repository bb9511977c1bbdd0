import { type Caller, callerOf, type JobId, type Limit, type ProviderId } from '@fairlead/core'
import { type Blocker, bestChange, type Engine, openEngine, verdictOf } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ATLAS, START } from './rig.ts'

const ACME = callerOf('acme')
const BIRCH = callerOf('birch')
const BOREA = 'provider:borea' as ProviderId
const CALLS: Limit = { key: 'calls', kind: 'fixed', capacity: 1, windowSecs: 60 }
/** The start of the next window. */
const NEXT = (Math.floor(START / 60_000) + 1) * 60_000
const POLICY = {
  admit: [{ kind: 'task', model: 'scarce', requirements: [{ key: CALLS.key, amount: 1 }] }],
}

let clock: TestClock
let engine: Engine
beforeEach(async () => {
  clock = new TestClock(START)
  engine = await openEngine({ store: new MemoryStore(), clock, policy: POLICY })
  await engine.limiter.define(CALLS)
})
afterEach(() => engine.close())

async function add(name: string, fields: object = {}, caller: Caller = ACME): Promise<JobId> {
  const request = { kind: 'task', payload: { name, args: {} }, ...fields }
  const id = await engine.enqueue(request, { caller })
  await clock.settle()
  return id
}

async function provide(
  id: ProviderId,
  offer: { models?: string[]; slots?: number; region?: string } = {},
): Promise<ManualWorker> {
  const { models = ['*'], slots = 1, region = null } = offer
  const capabilities = new Set(['task'] as const)
  await engine.registerProvider(id, { capabilities, models: new Set(models), region })
  return ManualWorker.connect(engine, id, { id: `w-${id}`, slots, holds: null })
}

const look = (caller: Caller | null = null) => engine.view.waiting(caller, clock.now())
const blockers = (): readonly Blocker[] => look().blockers
const only = (): Blocker => {
  const [one, ...more] = blockers()
  expect(more).toEqual([])
  return one as Blocker
}
const keyOf = ({ hold: { reason, check } }: Blocker) => [reason, check]

describe('what holds waiting jobs up', () => {
  it('FIGURE-2: every reason has its jobs, and together they are all that wait', async () => {
    await add('plain')
    await add('later', { run_at: START + 60_000 })
    const first = await add('first')
    await add('behind', { depends_on: [first] })
    await engine.pauseQueue({ kind: 'task', name: 'held', caller: null })
    await add('held')
    await add('held', { run_at: START + 60_000 })
    const found = blockers().map((one) => [...keyOf(one), one.jobs])
    expect(found).toEqual([
      ['no_provider', null, 2],
      ['paused', null, 2],
      ['dependencies', null, 1],
      ['scheduled', null, 1],
    ])
    const { scan } = look()
    expect([scan.waiting, scan.sampled]).toEqual([6, null])
    expect(engine.view.waitingSize).toBe(6)
  })

  it('FIGURE-2: the names with the most jobs, their callers, the first of them, and since when', async () => {
    const oldest = await add('resize')
    await clock.advance(1_000)
    await add('resize', {}, BIRCH)
    await add('email')
    expect(only()).toMatchObject({
      jobs: 3,
      callers: 2,
      names: [
        { name: 'resize', jobs: 2 },
        { name: 'email', jobs: 1 },
      ],
      first: oldest,
      since: START,
      until: null,
    })
  })

  it('FIGURE-2: jobs that wait for a time say when the first of them can go', async () => {
    await add('later', { run_at: START + 90_000 })
    await add('later', { run_at: START + 60_000 })
    expect(only()).toMatchObject({ jobs: 2, until: START + 60_000 })
    expect(only().text).toBe('2 task jobs "later" are scheduled for later, the first in 1 min.')
  })

  it('FIGURE-2: a retry waits in backoff', async () => {
    const worker = await provide(ATLAS)
    await add('resize')
    const { leaseId } = worker.offered
    await engine.ack({ leaseId, by: ATLAS })
    await engine.fail({ leaseId, by: ATLAS, code: 'oom', permanent: false })
    await clock.settle()
    expect(keyOf(only())).toEqual(['backoff', null])
    expect(only().change?.text).toContain('fairlead explain 0x')
  })
})

describe('the provider that comes closest', () => {
  it('FIGURE-3: what a provider offers comes before the state that it is in', async () => {
    await provide(ATLAS, { models: ['other'] })
    await provide(BOREA)
    await engine.setProviderStatus(BOREA, 'PAUSED')
    await add('resize')
    // Atlas is active and will never take it; Borea would, once it is back.
    expect(keyOf(only())).toEqual(['no_provider', 'provider_not_active'])
    expect(only().text).toBe('1 task job "resize" waits for provider:borea, which is PAUSED.')
    const params = { provider_id: BOREA, status: 'ACTIVE' }
    expect(only().change).toMatchObject({ jobs: 1, method: 'aicf.setProviderStatus', params })
  })

  it('FIGURE-3: a name that nobody offers', async () => {
    await provide(ATLAS, { models: ['other'] })
    await add('resize')
    expect(keyOf(only())).toEqual(['no_provider', 'model_unsupported'])
    expect(only().text).toBe('1 task job "resize" waits: no provider offers "resize".')
    expect(only().change?.text).toBe('Connect a worker that offers "resize".')
  })

  it('FIGURE-3: busy slots are told from a worker that is away', async () => {
    const worker = await provide(ATLAS, { slots: 2 })
    for (let i = 0; i < 3; i++) await add('resize')
    expect(only().text).toBe(
      '1 task job "resize" waits for a free slot: all 2 slots of the providers that take them are busy.',
    )
    await worker.session.close()
    await clock.advance(20_000)
    expect(keyOf(only())).toEqual(['no_provider', 'lease_cap_reached'])
    expect(only().text).toBe('3 task jobs "resize" wait: no worker of provider:atlas is connected.')
    expect(only().change?.text).toBe('Start a worker of provider:atlas.')
  })

  it('FIGURE-3: a limit by its key, and when it has room again', async () => {
    await provide(ATLAS, { slots: 5 })
    for (let i = 0; i < 3; i++) await add('scarce')
    expect(only()).toMatchObject({ jobs: 2, until: NEXT })
    expect(only().hold).toMatchObject({ reason: 'budget', limit: { key: 'calls' } })
    await engine.limiter.delete(CALLS.key)
    expect(only().text).toBe(
      '2 task jobs "scarce" wait for the limit "calls", which is not defined.',
    )
  })

  it('FIGURE-3: a limit that would hold jobs behind a busy slot keeps them apart from others', async () => {
    await provide(ATLAS, { slots: 1 })
    for (let i = 0; i < 2; i++) await add('scarce')
    await add('plain')
    expect(blockers().map((one) => [one.names[0]?.name, one.hold.limit?.key])).toEqual([
      ['plain', undefined],
      ['scarce', 'calls'],
    ])
  })

  it('FIGURE-3: a name in a text can be told from the text', async () => {
    await provide(ATLAS, { models: ['other'] })
    await add('a". All is fine.\n')
    expect(only().text).toContain('"a\\u{22}. All is fine.\\u{a}"')
  })
})

describe('the change that helps most', () => {
  it('FIGURE-4: is that of the most jobs, of those that are held up by now', async () => {
    await provide(ATLAS, { models: ['other'] })
    await add('resize')
    await engine.pauseQueue({ kind: 'task', name: 'held', caller: null })
    for (let i = 0; i < 3; i++) await add('held')
    expect(bestChange(blockers(), clock.now())).toBeNull()
    await clock.advance(5_000)
    expect(bestChange(blockers(), clock.now())).toEqual({
      text: 'Resume it: fairlead queues resume task --name held',
      jobs: 3,
      method: 'queues.resume',
      params: { kind: 'task', name: 'held' },
    })
  })
})

describe('many jobs', () => {
  it('FIGURE-1: beyond 5,000 single jobs the parts are estimated, and their sum is exact', async () => {
    const run_at = START + 60_000
    const requests = Array.from({ length: 8_000 }, (_, i) => {
      return { kind: 'task', payload: { name: i % 4 === 0 ? 'a' : 'b', args: {} }, run_at }
    })
    await engine.pauseQueue({ kind: 'task', name: 'a', caller: null })
    await engine.enqueueMany(requests, { caller: ACME })
    const { scan, blockers: found } = look()
    expect(scan).toMatchObject({ waiting: 8_000, sampled: 5_000 })
    expect(found.map((one) => one.hold.reason)).toEqual(['scheduled', 'paused'])
    const [scheduled = 0, paused = 0] = found.map(({ jobs }) => jobs)
    expect(scheduled + paused).toBe(8_000)
    // Which jobs are looked at is as good as random; this is ten times the deviation that leads to.
    expect(Math.abs(scheduled - 6_000)).toBeLessThan(300)
    expect(look(ACME).scan.waiting).toBe(8_000)
    expect(look(BIRCH).scan.waiting).toBe(0)
  })
})

describe('who sees what', () => {
  it('FIGURE-8: the jobs of one caller only', async () => {
    await add('resize')
    for (let i = 0; i < 2; i++) await add('email', {}, BIRCH)
    await add('later', { run_at: START + 60_000 }, BIRCH)
    const { scan, blockers: own } = look(BIRCH)
    expect(scan.waiting).toBe(3)
    expect(own.map(({ jobs, names }) => [jobs, names])).toEqual([
      [2, [{ name: 'email', jobs: 2 }]],
      [1, [{ name: 'later', jobs: 1 }]],
    ])
  })
})

describe('the verdict', () => {
  const verdict = (given: Partial<Parameters<typeof verdictOf>[0]> = {}) => {
    const { scan, blockers: found } = look()
    const base = { blockers: found, at: clock.now(), ageMs: 0, problems: [] }
    return verdictOf({ ...base, waiting: scan.waiting, running: engine.view.running(), ...given })
  }
  const PROBLEM = { check: 'store', text: 'The store refuses writes.', advice: 'Look at the disk.' }

  it('FIGURE-5: nothing waits, or what waits is not held up', async () => {
    expect(verdict()).toMatchObject({
      status: 'fine',
      text: 'All is fine: nothing waits, no job runs.',
    })
    await add('later', { run_at: START + 3_600_000 })
    await clock.advance(60_000)
    expect(verdict()).toMatchObject({ status: 'fine', cause: null })
    expect(verdict().text).toMatch(
      /^All is fine: no job runs, 1 job waits, and nothing holds it up/,
    )
  })

  it('FIGURE-5: what holds up the most work, from the fifth second on', async () => {
    await add('resize')
    await clock.advance(4_999)
    expect(verdict()).toMatchObject({ status: 'fine' })
    await clock.advance(1)
    expect(verdict()).toMatchObject({ status: 'held', cause: { jobs: 1 } })
    expect(verdict().text).toBe(
      'Held up: 1 task job "resize" waits, and there is no provider. Connect a worker that takes jobs of kind task.',
    )
  })

  it('FIGURE-5: a problem of the server comes first, and old data is unknown, never fine', async () => {
    await add('resize')
    await clock.advance(60_000)
    expect(verdict({ problems: [PROBLEM] })).toMatchObject({
      status: 'failing',
      text: 'Not fine: the store refuses writes.',
    })
    const old = { blockers: [], waiting: 0, ageMs: 10_001 }
    expect(verdict(old)).toMatchObject({
      status: 'unknown',
      text: 'Unknown: the data is 10 s old.',
    })
    expect(verdict({ ...old, ageMs: 10_000 }).status).toBe('fine')
  })
})

describe('what was ruled out', () => {
  it('FIGURE-5: names what was looked at, and only what is in order', async () => {
    await provide(ATLAS, { slots: 5 })
    const checks = () => look().ruledOut.map(({ check }) => check)
    expect(checks()).toEqual(['pauses', 'limits', 'failures', 'providers', 'slots'])
    await engine.pauseQueue({ kind: 'task', name: null, caller: null })
    for (let i = 0; i < 2; i++) await add('scarce')
    await engine.setProviderStatus(ATLAS, 'PAUSED')
    await clock.advance(5_000)
    expect(checks()).toEqual(['limits', 'failures'])
  })
})
