import { describe, expect, it } from 'vitest'
import { jobNamed } from '../../test/any-market.ts'
import { refusal } from '../../test/refusal.ts'
import {
  OWNER,
  STRANGER,
  WITH_PROOF,
  WITHOUT_HEALTH,
  World,
  type Written,
} from '../../test/world.ts'
import type { JobId } from '../encoding/ids.ts'
import { acceptRequest } from '../enqueue/request.ts'
import { FairleadError } from '../errors.ts'
import type { Job } from '../market/job.ts'
import { explainWaiting } from '../match/explain-job.ts'
import { waitGate } from '../match/wait-gate.ts'
import { cancelJob } from '../outcome/cancel-job.ts'
import { type Policy, parsePolicy, showPolicy } from '../policy/policy.ts'
import { cascade } from './cascade.ts'
import { DEPENDENTS_MAX } from './dependencies.ts'
import type { JobOptions } from './job-options.ts'

const QUEUE = parsePolicy({})
const FUND = parsePolicy({}, 'fund')
const NOW = 1_760_000_000_000
const DAY_MS = 86_400_000
const SHORT = { queue: { lease: { ai_secs: 10 } } }
const BY_SHARE = { match: { fairness: 'tenant', ties: 'arrival' } }
const QUEUE_LIKE = { ...WITHOUT_HEALTH, ...BY_SHARE }

function accepted(options: object, { policy = QUEUE, kind = 'task' } = {}): JobOptions | null {
  return acceptRequest(
    { kind, idempotency_key: 'k', payload: payloadOf(kind), ...options },
    policy,
    { caller: OWNER, chainId: 1n, enqueueHeight: 1n, nowMs: NOW },
  ).options
}

function payloadOf(kind: string): object {
  if (kind === 'task') return { name: 'mail', args: {} }
  return {
    provider: 'p',
    org_ref: 'o',
    event_id: 'e',
    user_id: 'u',
    args: {},
    scheduled_time: NOW + DAY_MS,
  }
}

/** The code of a refusal, and the field or limit that it names. */
function refused(options: object, given: { policy?: Policy; kind?: string } = {}): string {
  try {
    accepted(options, given)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    return `${error.code} ${String(error.details['field'] ?? error.details['limit'])}`
  }
  return 'accepted'
}

const BACKOFF = { base_ms: 100, factor_permille: 2_000, cap_ms: 5_000, jitter_permille: 0 }

describe('the options of a request', () => {
  it('OPTIONS-1: a request without options has none, whatever is null or empty', () => {
    expect(accepted({})).toBeNull()
    const empty = {
      tags: [],
      depends_on: [],
      delay_ms: 0,
      priority: 0,
      backoff: null,
      run_at: null,
    }
    expect(accepted(empty)).toBeNull()
  })

  it('OPTIONS-1: each option is read, and repeats are dropped', () => {
    const id = jobNamed(7)
    const written = {
      delay_ms: 5_000,
      attempts: 3,
      backoff: BACKOFF,
      timeout_ms: 1_000,
      priority: -100,
      tags: ['a:b', 'a:b', 'x/y.z_-'],
      dedupe_key: 'é',
      depends_on: [id, id],
      on_dependency: 'run',
    }
    expect(accepted(written)).toEqual({
      runAt: NOW + 5_000,
      attempts: 3,
      backoff: { baseMs: 100, factorPermille: 2_000, capMs: 5_000, jitterPermille: 0 },
      timeoutMs: 1_000,
      priority: -100,
      tags: ['a:b', 'x/y.z_-'],
      dedupeKey: 'é',
      dependsOn: [id],
      onDependency: 'run',
    })
  })

  it.each([
    { fits: { run_at: NOW + 366 * DAY_MS }, fails: { run_at: NOW + 366 * DAY_MS + 1 } },
    { fits: { run_at: 0 }, fails: { run_at: -1 } },
    { fits: { delay_ms: 366 * DAY_MS }, fails: { delay_ms: 366 * DAY_MS + 1 } },
    { fits: { attempts: 1 }, fails: { attempts: 0 } },
    { fits: { attempts: 1_000 }, fails: { attempts: 1_001 } },
    { fits: { timeout_ms: 1_000 }, fails: { timeout_ms: 999 } },
    { fits: { timeout_ms: 7 * DAY_MS }, fails: { timeout_ms: 7 * DAY_MS + 1 } },
    { fits: { priority: 100 }, fails: { priority: 101 } },
    { fits: { priority: -100 }, fails: { priority: -101 } },
    { fits: { tags: ['x'.repeat(64)] }, fails: { tags: ['x'.repeat(65)] } },
    { fits: { tags: ['ok'] }, fails: { tags: ['no space'] } },
  ])('OPTIONS-1: $fits is taken, and $fails names its field', ({ fits, fails }) => {
    expect(refused(fits)).toBe('accepted')
    expect(refused(fails)).toBe(`InvalidParams ${Object.keys(fails)[0]}`)
  })

  it.each([
    ['base_ms', 0, 7 * DAY_MS],
    ['factor_permille', 1_000, 10_000],
    ['cap_ms', 0, 7 * DAY_MS],
    ['jitter_permille', 0, 1_000],
  ])('OPTIONS-4: backoff.%s is from %d to %d', (name, min, max) => {
    for (const fits of [min, max]) {
      expect(refused({ backoff: { ...BACKOFF, [name]: fits } })).toBe('accepted')
    }
    for (const wrong of [min - 1, max + 1, 0.5, null, undefined, '1']) {
      const backoff = { ...BACKOFF, [name]: wrong }
      expect(refused({ backoff })).toBe(`InvalidParams backoff.${name}`)
    }
  })

  it('OPTIONS-1: what is over a cap is LimitExceeded', () => {
    expect(refused({ tags: Array(8).fill('a') })).toBe('accepted')
    expect(refused({ tags: Array(9).fill('a') })).toBe('LimitExceeded tags')
    expect(refused({ dedupe_key: 'é'.repeat(128) })).toBe('accepted')
    expect(refused({ dedupe_key: 'é'.repeat(129) })).toBe('LimitExceeded dedupe_key')
    expect(refused({ depends_on: Array(100).fill(jobNamed(1)) })).toBe('accepted')
    expect(refused({ depends_on: Array(101).fill(jobNamed(1)) })).toBe('LimitExceeded depends_on')
  })

  it('OPTIONS-1: what contradicts itself or is no such thing is refused by name', () => {
    expect(refused({ run_at: NOW, delay_ms: 1 })).toBe('InvalidParams delay_ms')
    expect(refused({ on_dependency: 'run' })).toBe('InvalidParams on_dependency')
    expect(refused({ depends_on: [jobNamed(1)], on_dependency: 'no' })).toBe(
      'InvalidParams on_dependency',
    )
    expect(refused({ depends_on: ['0xAB'] })).toBe('InvalidParams depends_on')
    expect(refused({ dedupe_key: '' })).toBe('InvalidParams dedupe_key')
    expect(refused({ backoff: { ...BACKOFF, more: 1 } })).toBe('InvalidParams backoff.more')
  })

  it('OPTIONS-1: of the options a registration takes tags only', () => {
    const kind = 'registration'
    expect(accepted({ tags: ['a'] }, { kind })).toEqual({ tags: ['a'] })
    for (const option of [{ delay_ms: 0 }, { attempts: 1 }, { priority: 0 }, { dedupe_key: 'k' }]) {
      expect(refused(option, { kind })).toBe(`InvalidParams ${Object.keys(option)[0]}`)
    }
  })

  it('OPTIONS-6: under fairness score a priority other than 0 is refused', () => {
    expect(refused({ priority: 0 }, { policy: FUND })).toBe('accepted')
    expect(refused({ priority: 1 }, { policy: FUND })).toBe('InvalidParams priority')
  })
})

/** A job of these options, in a world of this policy. */
function jobIn(world: World, options: JobOptions, given: object = {}): Job {
  return world.enqueue({ options, ...given })
}

describe('a job with a time', () => {
  it('OPTIONS-2: it is scheduled until its time, and not a millisecond longer', () => {
    const world = new World()
    const job = jobIn(world, { runAt: 5_000 })
    world.at(4_999)
    expect(waitGate(world.market, job)).toEqual({ reason: 'scheduled', until: 5_000 })
    expect(explainWaiting(world.market, job)).toMatchObject({
      waitReason: 'scheduled',
      notBefore: 5_000,
      earliestAt: 5_000,
    })
    expect(world.round()).toEqual([])
    world.at(5_000)
    expect(explainWaiting(world.market, job).waitReason).toBe('ready')
    expect(world.round()).toEqual([job])
  })

  it('OPTIONS-2: it waits from then on: its place, its age and its life count from that time', () => {
    const world = new World({ queue: { ttl: { abs_default_ai_secs: 60 } } })
    const late = jobIn(world, { runAt: 9_000 })
    world.at(8_000)
    const early = world.enqueue()
    world.at(9_000)
    expect(late.readyTs).toBe(9_000)
    expect(explainWaiting(world.market, late)).toMatchObject({ place: 2, terms: { ageSecs: 0 } })
    expect(explainWaiting(world.market, early).place).toBe(1)
    world.at(68_999)
    expect(late.status).toBe('QUEUED')
    world.at(69_000)
    expect(late).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs' })
  })

  it('OPTIONS-2: a job before its time is not the one that has waited longest', () => {
    const world = new World()
    jobIn(world, { runAt: 5_000 })
    expect(world.market.queues.get('ai')).toMatchObject({ size: 1, oldestTs: null, readySize: 0 })
    world.at(6_000)
    world.round()
    expect(world.market.queues.get('ai')).toMatchObject({ size: 0 })
  })
})

/** What an attempt after another comes to: when the job is ready, or how it ended. */
function failAt(world: World, job: Job): number | string {
  const lease = world.assign({ job })
  world.ack(lease)
  world.fail(lease)
  return job.notBefore === null ? job.status : job.notBefore - world.market.nowMs
}

describe('attempts and backoff', () => {
  const none = { baseMs: 0, factorPermille: 1_000, capMs: 0, jitterPermille: 0 }

  it('OPTIONS-3: its own number of charges ends the job, above that of the policy too', () => {
    const world = new World(WITHOUT_HEALTH)
    const job = jobIn(world, { attempts: 8, backoff: none })
    for (let n = 0; n < 7; n++) expect(failAt(world, job)).toBe(0)
    expect(failAt(world, job)).toBe('FAILED')
    expect(job).toMatchObject({ retries: 8, reason: 'retries_exhausted' })
  })

  it('OPTIONS-3: where health is on, the number of the policy is the most', () => {
    const world = new World({ registry: { health: 'on', min_health: 0 } })
    const job = jobIn(world, { attempts: 8 })
    for (let n = 0; n < 5; n++) {
      expect(failAt(world, job)).not.toBe('FAILED')
      world.at(job.notBefore ?? 0)
    }
    expect(failAt(world, job)).toBe('FAILED')
    expect(job.retries).toBe(6)
  })

  it('OPTIONS-4: its own backoff stands for that of the policy', () => {
    const world = new World(WITHOUT_HEALTH)
    const backoff = { baseMs: 100, factorPermille: 3_000, capMs: 500, jitterPermille: 0 }
    const job = jobIn(world, { backoff })
    expect([failAt(world, job), failAt(world, job), failAt(world, job)]).toEqual([100, 300, 500])
  })

  it('OPTIONS-4: where health is on, no delay is below that of the policy', () => {
    const world = new World()
    const job = jobIn(world, { backoff: none }, { id: jobNamed(3) })
    const plain = new World()
    expect(failAt(world, job)).toBe(failAt(plain, plain.enqueue({ id: jobNamed(3) })))
  })
})

describe('a timeout', () => {
  it('OPTIONS-5: an attempt ends that long after its ack, renewed or not, and the provider keeps all', () => {
    const world = new World(SHORT)
    const job = jobIn(world, { timeoutMs: 12_000 })
    const lease = world.assign({ job })
    world.at(1_000)
    world.ack(lease)
    world.at(5_000)
    world.renew(lease)
    world.at(12_999)
    expect(lease.status).toBe('RENEWED')
    world.at(13_000)
    expect(lease.status).toBe('EXPIRED')
    expect(job).toMatchObject({ status: 'QUEUED', retries: 1, denials: null })
    expect(world.a).toMatchObject({ health: 1_000, failures: 0 })
  })

  it('OPTIONS-5: where work is proved, a timeout is no outcome of the provider, and a deadline is', () => {
    const world = new World({ queue: { ...SHORT.queue, ...WITH_PROOF.queue } })
    const { service } = world.market.fund
    world.run({ job: jobIn(world, { timeoutMs: 1_000 }) })
    world.at(1_000)
    expect(service.providers()).toEqual([])
    world.run()
    world.at(60_000)
    expect(service.providers()).toEqual([world.a.id])
  })

  it('OPTIONS-5: a lease that reaches its deadline first ends as any other', () => {
    const world = new World(SHORT)
    const job = jobIn(world, { timeoutMs: 12_000 })
    world.run({ job })
    world.at(10_000)
    expect(job.denials?.get(world.a.id)).toBe(70_000)
    expect(world.a).toMatchObject({ health: 850, failures: 1 })
  })

  it('OPTIONS-5: without an ack there is nothing to time', () => {
    const world = new World({ queue: { ack_timeout_ms: 5_000 } })
    const lease = world.assign({ job: jobIn(world, { timeoutMs: 1_000 }) })
    world.at(4_999)
    expect(lease.status).toBe('ACTIVE')
  })

  it('OPTIONS-5: the last one ends the job as EXPIRED', () => {
    const world = new World()
    const job = jobIn(world, { timeoutMs: 1_000, attempts: 1 })
    world.run({ job })
    world.at(1_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'retries_exhausted' })
  })
})

describe('priority', () => {
  it('OPTIONS-6: jobs of a caller go by priority before their score, and others by their turn', () => {
    const world = new World(QUEUE_LIKE)
    const low = jobIn(world, { priority: -1 }, { fee: 9_000_000n })
    const plain = world.enqueue()
    const high = jobIn(world, { priority: 1 })
    const other = world.enqueue({ caller: STRANGER })
    expect(explainWaiting(world.market, plain)).toMatchObject({ place: 2, of: 3, priority: 0 })
    expect(world.round()).toEqual([high, other, plain, low])
  })

  it('OPTIONS-6: a job that nobody takes holds up no lower priority', () => {
    const world = new World(QUEUE_LIKE)
    const stuck = jobIn(world, { priority: 100 }, { regions: ['nowhere'] })
    const plain = world.enqueue()
    expect(world.round()).toEqual([plain])
    expect(stuck.status).toBe('QUEUED')
  })
})

describe('a dedupe key', () => {
  it('OPTIONS-7: while a live job has it, the same caller, kind and name get that job', () => {
    const world = new World()
    const first = jobIn(world, { dedupeKey: 'k' })
    expect(jobIn(world, { dedupeKey: 'k' })).toBe(first)
    expect(jobIn(world, { dedupeKey: 'l' })).not.toBe(first)
    expect(jobIn(world, { dedupeKey: 'k' }, { caller: STRANGER })).not.toBe(first)
    expect(jobIn(world, { dedupeKey: 'k' }, { kind: 'task' })).not.toBe(first)
    cancelJob(world.market, first, OWNER)
    expect(jobIn(world, { dedupeKey: 'k' })).not.toBe(first)
  })
})

describe('dependencies', () => {
  const after = (...jobs: readonly { readonly id: JobId }[]): JobOptions => ({
    dependsOn: jobs.map(({ id }) => id),
  })

  it('OPTIONS-8: it waits for all of them to be COMPLETED, and its wait begins with the last', () => {
    const world = new World()
    const [one, two] = [world.enqueue(), world.enqueue()]
    const job = jobIn(world, after(one, two))
    const { dependencies } = explainWaiting(world.market, job)
    expect(dependencies).toEqual([one.id, two.id])
    world.complete(world.run({ job: one }))
    cascade(world.market)
    expect(waitGate(world.market, job)).toEqual({ reason: 'dependencies', until: null })
    expect(explainWaiting(world.market, job).earliestAt).toBeNull()
    world.at(7_000)
    world.complete(world.run({ job: two }))
    cascade(world.market)
    expect(job).toMatchObject({ waitsFor: 0, releasedAt: 7_000, readyTs: 7_000 })
    expect(world.round()).toEqual([job])
  })

  it('OPTIONS-8: its life begins when it is ready', () => {
    const world = new World()
    const first = world.enqueue({ ttlAbsSecs: 100 })
    const job = jobIn(world, after(first), { ttlAbsSecs: 10 })
    world.at(50_000)
    world.complete(world.run({ job: first }))
    cascade(world.market)
    world.at(59_999)
    expect(job.status).toBe('QUEUED')
    world.at(60_000)
    expect(job).toMatchObject({ status: 'EXPIRED', reason: 'ttl_abs' })
  })

  it('OPTIONS-8: if one ends otherwise it is CANCELED, with all that depends on it in turn', () => {
    const world = new World()
    const first = world.enqueue()
    const job = jobIn(world, after(first))
    const last = jobIn(world, after(job))
    cancelJob(world.market, first, OWNER)
    expect(job.status).toBe('QUEUED')
    cascade(world.market)
    for (const one of [job, last]) {
      expect(one).toMatchObject({ status: 'CANCELED', reason: 'dependency_failed' })
    }
    const canceled = { type: 'jobCanceled', jobId: job.id, reason: 'dependency_failed' }
    expect(world.events).toContainEqual(expect.objectContaining(canceled))
  })

  it('OPTIONS-8: with on_dependency run it runs however they end', () => {
    const world = new World()
    const first = world.enqueue()
    const job = jobIn(world, { ...after(first), onDependency: 'run' })
    cancelJob(world.market, first, OWNER)
    cascade(world.market)
    expect(world.round()).toEqual([job])
  })

  it('OPTIONS-8: an unknown, foreign or failed one ends it at once, unless it is to run', () => {
    const world = new World()
    const foreign = world.enqueue({ caller: STRANGER })
    const failed = world.enqueue()
    cancelJob(world.market, failed, OWNER)
    for (const one of [{ id: jobNamed(999) }, foreign, failed]) {
      const options = after(one)
      expect(jobIn(world, options)).toMatchObject({
        status: 'CANCELED',
        reason: 'dependency_failed',
      })
      expect(jobIn(world, { ...options, onDependency: 'run' }).waitsFor).toBe(0)
    }
  })

  it('OPTIONS-8: one that completed before counts as done, in memory or as it is told', () => {
    const world = new World()
    const first = world.enqueue()
    world.complete(world.run({ job: first }))
    expect(jobIn(world, after(first))).toMatchObject({ status: 'QUEUED', waitsFor: 0 })
    const gone = { id: jobNamed(998) }
    expect(jobIn(world, after(gone), { completed: [gone.id] }).status).toBe('QUEUED')
  })

  it('OPTIONS-8: the time comes before the dependencies in what it waits for', () => {
    const world = new World()
    const first = world.enqueue()
    const job = jobIn(world, { ...after(first), runAt: 3_000 })
    expect(waitGate(world.market, job).reason).toBe('scheduled')
    world.at(3_000)
    expect(waitGate(world.market, job).reason).toBe('dependencies')
    expect(world.round()).toEqual([first])
  })

  it('OPTIONS-8: a cascade tells 250 jobs, the earliest first, and the next one goes on', () => {
    const world = new World()
    const first = world.enqueue()
    const jobs = Array.from({ length: 260 }, () => jobIn(world, after(first)))
    cancelJob(world.market, first, OWNER)
    expect(cascade(world.market)).toBe(250)
    expect(jobs.map(({ status }) => status === 'CANCELED').lastIndexOf(true)).toBe(249)
    expect(cascade(world.market)).toBe(10)
    expect(world.market.dependencies).toMatchObject({ isDue: false, edges: 0 })
  })

  it('OPTIONS-9: a job with too many dependents takes no more', () => {
    const world = new World({ queue: { max_depth: 1_000_000 } })
    const first = world.enqueue()
    for (let n = 0; n < DEPENDENTS_MAX; n++) jobIn(world, after(first))
    expect(refusal(() => jobIn(world, after(first)))).toBe('LimitExceeded')
    const { dependencies } = world.market
    expect(dependencies.edges).toBe(DEPENDENTS_MAX)
  })
})

describe('defaults of the policy', () => {
  const defaults: Written = {
    kinds: { ai: { attempts: 2, timeout_ms: 4_000, priority: 5 } },
    tasks: { mail: { attempts: 1, backoff: BACKOFF } },
  }

  it('OPTIONS-10: a job takes its own option, then that of its task name, then that of its kind', () => {
    const world = new World({ ...QUEUE_LIKE, ...defaults })
    const own = jobIn(world, { attempts: 1, priority: 6 })
    const plain = world.enqueue()
    expect(world.round()).toEqual([own, plain])
    for (const job of [own, plain]) {
      const [lease] = job.leases ?? []
      if (lease === undefined) throw new Error('the round gave it a lease')
      world.fail(world.ack(lease))
    }
    expect(own.status).toBe('FAILED')
    expect(plain).toMatchObject({ status: 'QUEUED', retries: 1 })
    const demand = { model: 'mail', shots: 0, depthHint: 0, units: 1, tokens: 0 }
    const task = world.enqueue({ kind: 'task', demand })
    expect(failAt(world, task)).toBe('FAILED')
  })

  it('OPTIONS-10: the settings are shown as they were written', () => {
    const { tasks, kinds } = showPolicy(parsePolicy(defaults)) as typeof defaults
    expect(tasks).toEqual(defaults['tasks'])
    expect(kinds).toMatchObject(defaults['kinds'] ?? {})
  })

  it.each([
    [{ tasks: { mail: { attempts: 0 } } }, 'tasks.mail.attempts'],
    [{ tasks: { mail: { backoff: { base_ms: 1 } } } }, 'tasks.mail.backoff'],
    [{ tasks: { mail: { prio: 1 } } }, 'tasks.mail.prio'],
    [{ tasks: { mail: 7 } }, 'tasks.mail'],
    [{ tasks: [] }, 'tasks'],
    [{ match: { fairness: 'score' }, tasks: { mail: { priority: 1 } } }, 'tasks.mail.priority'],
    [{ match: { fairness: 'score' }, kinds: { ai: { priority: 1 } } }, 'kinds.ai.priority'],
  ])('OPTIONS-10: a wrong default in %j names its path', (written, path) => {
    expect(() => parsePolicy(written)).toThrow(`- ${path}`)
  })
})
