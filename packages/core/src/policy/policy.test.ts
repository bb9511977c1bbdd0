import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairleadError } from '../errors.ts'
import {
  type Policy,
  PRESETS,
  type Preset,
  parsePolicy,
  policySettings,
  showPolicy,
} from './policy.ts'
import { exactThousandths } from './policy-field.ts'

type Written = { [key: string]: unknown }

const SETTINGS = policySettings()
/** The maps of the fund have tests of their own. */
const isOfFund = ({ path }: { readonly path: string }): boolean => /^(economics|sla)\./.test(path)
const SECS: [number, number] = [1, 31_536_000]
const BYTES: [number, number] = [0, 67_108_864]
const NAME_BYTES: [number, number] = [1, 1_024]
const COUNT: [number, number] = [0, Number.MAX_SAFE_INTEGER]

/** What the specification says of every whole number: default, lowest, highest. */
const INTEGERS: readonly [string, number, readonly [number, number]][] = [
  ['queue.max_depth', 1_000_000, [0, 100_000_000]],
  ['queue.batch_size', 256, [1, 100_000]],
  ['limits.actual_factor_max', 16, [1, 1_000_000]],
  ['queue.dispatch_interval_ms', 250, [1, 60_000]],
  ['queue.ack_timeout_ms', 5_000, [100, 600_000]],
  ['queue.worker_lost_ms', 15_000, [100, 3_600_000]],
  ['queue.worker_lost_registration_ms', 2_000, [2_000, 3_600_000]],
  ['queue.starvation_k', 20, [1, 1_000_000]],
  ['queue.lease.ai_secs', 600, SECS],
  ['queue.lease.quantum_secs', 180, SECS],
  ['queue.lease.task_secs', 600, SECS],
  ['queue.lease.registration_secs', 60, [2, SECS[1]]],
  ['queue.retries.attempt_max', 6, [1, 1_000]],
  ['queue.retries.base_backoff_ai_secs', 5, SECS],
  ['queue.retries.base_backoff_quantum_secs', 2, SECS],
  ['queue.retries.base_backoff_task_secs', 5, SECS],
  ['queue.retries.backoff_cap_secs', 900, SECS],
  ['queue.quotas.leases_max_per_provider', 16, [0, 1_000_000]],
  ['queue.quotas.epoch_secs', 3_600, SECS],
  ['queue.ttl.abs_default_ai_secs', 86_400, SECS],
  ['queue.ttl.abs_default_quantum_secs', 7_200, SECS],
  ['queue.ttl.abs_default_registration_secs', 86_400, SECS],
  ['queue.ttl.gc_horizon_secs', 604_800, SECS],
  ['journal.keep_secs', 604_800, [0, 315_360_000]],
  ['journal.keep_entries', 1_000_000, [1, 1_000_000_000]],
  ['audit.pii_retention_secs', 2_592_000, SECS],
  ['queue.completion.proof_timeout_secs', 600, SECS],
  ['queue.completion.meta_max_bytes', 16_384, BYTES],
  ['queue.completion.output_max_bytes', 262_144, BYTES],
  ['caps.idempotency_key', 256, NAME_BYTES],
  ['caps.regions', 64, [1, 1_000]],
  ['caps.needs', 64, [1, 1_000]],
  ['caps.ai.model', 128, NAME_BYTES],
  ['caps.ai.prompt', 65_536, BYTES],
  ['caps.ai.max_tokens', 1_048_576, [1, 4_294_967_295]],
  ['caps.quantum.circuit', 131_072, BYTES],
  ['caps.quantum.shots', 1_000_000, [1, 4_294_967_295]],
  ['caps.task.name', 128, NAME_BYTES],
  ['caps.task.args', 65_536, BYTES],
  ['caps.registration.provider', 128, NAME_BYTES],
  ['caps.registration.org_ref', 128, NAME_BYTES],
  ['caps.registration.event_id', 128, NAME_BYTES],
  ['caps.registration.user_id', 128, NAME_BYTES],
  ['caps.registration.args', 16_384, BYTES],
  ['priority.age_horizon_secs', 3_600, [1, 4_000_000]],
  ['registry.heartbeat_timeout_ms', 180_000, [1_000, 31_536_000_000]],
  ['registry.heartbeat_interval_ms', 60_000, [1_000, 86_400_000]],
  ['registry.min_health', 600, [0, 1_000]],
  ['registry.cooldown_after', 3, [1, 1_000]],
  ['registry.unstake_delay_secs', 86_400, [0, SECS[1]]],
  ['chain.finality_k', 12, [0, 1_000_000]],
  ['proof.units_max_ppm', 1_100_000, [0, 1_000_000_000]],
  ['proof.traps_min_ppm', 980_000, [0, 1_000_000]],
]
/** Those that may be null, which is no limit: default, lowest, highest. */
const LIMITS: readonly [string, number | null, readonly [number, number]][] = [
  ['queue.max_per_caller', null, COUNT],
  ['queue.quotas.ai_units_per_epoch', 100_000, COUNT],
  ['queue.quotas.quantum_units_per_epoch', 10_000, COUNT],
  ['queue.quotas.task_units_per_epoch', null, COUNT],
  ['queue.quotas.registration_units_per_epoch', null, COUNT],
  ['queue.lease.renewals_max', 4, [0, 1_000]],
  ['queue.retries.worker_lost_max', 3, [1, 1_000]],
  ['queue.ttl.abs_default_task_secs', 86_400, SECS],
  ['queue.ttl.rel_max_secs', 21_600, SECS],
  ['queue.completion.result_retention_secs', null, [0, SECS[1]]],
  ...['ai', 'quantum', 'task'].flatMap((kind): [string, null, readonly [number, number]][] => [
    [`kinds.${kind}.attempts`, null, [1, 1_000]],
    [`kinds.${kind}.timeout_ms`, null, [1_000, 604_800_000]],
    [`kinds.${kind}.retention_secs`, null, [3_600, 315_360_000]],
  ]),
]
const AMOUNTS: readonly [string, number, number][] = [
  ['chain.id', 1, 0],
  ['priority.fee_half', 1_000_000, 1],
  ['priority.size_half', 16_384, 1],
  ['registry.min_stake.ai', 10_000, 0],
  ['registry.min_stake.quantum', 50_000, 0],
  ['registry.min_stake.task', 0, 0],
  ['registry.min_stake.registration', 0, 0],
]
const DECIMALS: readonly [string, number][] = [
  ['queue.lease.renew_alpha', 0.6],
  ['queue.lease.renew_beta', 0.5],
  ['priority.weights.fee', 0.55],
  ['priority.weights.age', 0.25],
  ['priority.weights.size', 0.1],
  ['priority.weights.tier', 0.1],
]
const CHOICES: readonly [string, string, readonly string[]][] = [
  ['queue.completion.ai_verification', 'proof', ['none', 'proof']],
  ['queue.completion.quantum_verification', 'proof', ['none', 'proof']],
  ['chain.source', 'none', ['none', 'blocks']],
  ['queue.completion.task_verification', 'none', ['none']],
  ['signup.sessions', 'any', ['any', 'defined_only']],
  ['match.order', 'first-fit', ['first-fit', 'rotate', 'score']],
  ['match.fairness', 'score', ['score', 'tenant']],
  ['match.ties', 'pair_hash', ['pair_hash', 'arrival']],
  ['registry.health', 'on', ['on', 'off']],
  ['registry.liveness', 'heartbeat', ['heartbeat', 'worker']],
]
const FLAGS: readonly string[] = [
  'signup.shared_users',
  ...['ai', 'quantum', 'task', 'registration'].map(
    (kind) => `registry.attestation_required.${kind}`,
  ),
]
const TABLES: readonly [string, Record<string, number>, readonly [number, number]][] = [
  ['priority.tiers', { FREE: 0, PRO: 300_000, PREMIUM: 600_000 }, [0, 1_000_000]],
  ['match.tenant_weights', {}, [1, 1_000_000]],
  ['match.tier_weights', { FREE: 1, PRO: 2, PREMIUM: 4 }, [1, 1_000_000]],
]
const LISTS: readonly string[] = [
  'registry.denied_regions',
  'registry.requesters_deny',
  'audit.redact_keys',
  'audit.identifier_keys',
]

/** A value that fits no setting of this path. */
const wrongFor = (path: string): unknown => (path === 'chain.miner_id' ? 5 : 'wrong')

/** `{a: {b: value}}` for the path `a.b`. */
function at(path: string, value: unknown): Written {
  return path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Written
}

function put(target: Written, path: string, value: unknown): void {
  const keys = path.split('.')
  const last = keys.pop() as string
  let place = target
  for (const key of keys) {
    place[key] ??= {}
    place = place[key] as Written
  }
  place[last] = value
}

function valueAt(policy: Policy, path: string): unknown {
  const camel = (key: string) => key.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase())
  return path.split('.').reduce<unknown>((place, key) => (place as Written)[camel(key)], policy)
}

/** The whole policy as it would be written in a file. */
function writtenForm(policy: Policy): Written {
  const written: Written = {}
  for (const { path, field } of SETTINGS) put(written, path, field.show(valueAt(policy, path)))
  return JSON.parse(JSON.stringify(written)) as Written
}

function problemsOf(written: unknown, preset: Preset = 'fund'): string[] {
  try {
    parsePolicy(written, preset)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    expect(error.code).toBe('InvalidParams')
    expect(error.details['field']).toBe('policy')
    const problems = error.details['problems'] as string[]
    for (const problem of problems) expect(error.message).toContain(problem)
    return problems
  }
  return []
}

const pathOf = (problem: string): string => problem.slice(0, problem.indexOf(':'))

/** The value of one setting under `fund`, where it fits; `refused` with its path named where not. */
function tried(path: string, value: unknown): unknown {
  const written = at(path, value)
  // An ack timeout has to stay below every lease; long leases leave it only its own bounds.
  if (path === 'queue.ack_timeout_ms') {
    for (const kind of ['ai', 'quantum', 'task', 'registration']) {
      put(written, `queue.lease.${kind}_secs`, 3_600)
    }
  }
  const problems = problemsOf(written)
  if (problems.some((problem) => pathOf(problem) === path)) return 'refused'
  const field = SETTINGS.find((setting) => setting.path === path)?.field
  return field?.read(value)
}

describe('the table of settings', () => {
  it('POLICY-1: the settings are those of the specification and no others', () => {
    const named = [
      ...INTEGERS.map(([path]) => path),
      ...LIMITS.map(([path]) => path),
      ...AMOUNTS.map(([path]) => path),
      ...DECIMALS.map(([path]) => path),
      ...CHOICES.map(([path]) => path),
      ...FLAGS,
      ...TABLES.map(([path]) => path),
      ...LISTS,
      'queue.quotas.requester_window',
      ...['ai', 'quantum', 'task'].flatMap((kind) => [
        `kinds.${kind}.backoff`,
        `kinds.${kind}.priority`,
      ]),
      'tasks',
      'queue.retries.backoff_factor',
      'registry.requesters_allow',
      'sessions.platforms',
      'admit',
      'chain.miner_id',
      'registry.attestation_classes',
      'registry.attestation_revoked',
    ]
    const others = SETTINGS.filter((setting) => !isOfFund(setting))
    expect(others.map(({ path }) => path).sort()).toEqual(named.sort())
  })

  it.each(SETTINGS.map(({ path, field }) => ({ path, field })))(
    'POLICY-1: the default of $path is inside its own bounds and has a purpose',
    ({ field }) => {
      const written: unknown = JSON.parse(JSON.stringify(field.show(field.default)))
      expect(field.read(written)).toEqual(field.default)
      expect(field.purpose).toMatch(/\S{2,}/)
      expect(field.expected).toMatch(/\S{2,}/)
    },
  )

  it.each(INTEGERS)(
    'POLICY-1: %s is %d by default, and its bounds hold',
    (path, value, [min, max]) => {
      expect(valueAt(parsePolicy({}, 'fund'), path)).toBe(value)
      expect(tried(path, min)).toBe(min)
      expect(tried(path, max)).toBe(max)
      expect(tried(path, min - 1)).toBe('refused')
      expect(tried(path, max + 1)).toBe('refused')
      for (const wrong of [
        null,
        '5',
        '',
        true,
        [],
        {},
        Number.NaN,
        min + 0.5,
        Number.POSITIVE_INFINITY,
      ]) {
        expect(tried(path, wrong), String(wrong)).toBe('refused')
      }
    },
  )

  it.each(LIMITS)(
    'VALUE-5: %s is %s by default; null is no limit, and its bounds hold',
    (path, value, [min, max]) => {
      expect(valueAt(parsePolicy({}, 'fund'), path)).toBe(value)
      expect(valueAt(parsePolicy(at(path, null), 'fund'), path)).toBeNull()
      expect(valueAt(parsePolicy(at(path, min), 'fund'), path)).toBe(min)
      expect(tried(path, max)).toBe(max)
      for (const wrong of [min - 1, max + 1, min + 0.5, 2 ** 53, '0', 'null', false, [], {}]) {
        expect(tried(path, wrong), String(wrong)).toBe('refused')
      }
    },
  )

  it.each(AMOUNTS)(
    'VALUE-2: %s is %d by default and takes both forms of a u64',
    (path, value, min) => {
      expect(valueAt(parsePolicy({}, 'fund'), path)).toBe(BigInt(value))
      expect(tried(path, min)).toBe(BigInt(min))
      expect(tried(path, String(min))).toBe(BigInt(min))
      expect(tried(path, '18446744073709551615')).toBe(2n ** 64n - 1n)
      for (const wrong of [
        min - 1,
        '18446744073709551616',
        2 ** 53,
        1.5,
        '01',
        '',
        null,
        true,
        {},
      ]) {
        expect(tried(path, wrong), String(wrong)).toBe('refused')
      }
    },
  )

  it.each(DECIMALS)('POLICY-3: %s is %d by default, kept in thousandths', (path, value) => {
    expect(valueAt(parsePolicy({}, 'fund'), path)).toBe(Math.round(value * 1_000))
    expect([tried(path, 0), tried(path, 1), tried(path, 0.001)]).toEqual([0, 1_000, 1])
    for (const wrong of [-0.001, 1.001, 0.0001, 0.5555, 1e-7, '0.5', null, true, {}, Number.NaN]) {
      expect(tried(path, wrong), String(wrong)).toBe('refused')
    }
  })

  it('POLICY-3: queue.retries.backoff_factor is 2 by default, from 1 to 10, kept in thousandths', () => {
    const path = 'queue.retries.backoff_factor'
    expect(valueAt(parsePolicy({}, 'fund'), path)).toBe(2_000)
    expect([1, 1.001, 2.0, 10].map((factor) => tried(path, factor))).toEqual([
      1_000, 1_001, 2_000, 10_000,
    ])
    for (const wrong of [0.999, 10.001, 1.0001, 0, -2, '2', null, true, {}, Number.NaN]) {
      expect(tried(path, wrong), String(wrong)).toBe('refused')
    }
  })

  it.each(CHOICES)(
    'POLICY-1: %s is %s by default and one of its choices',
    (path, value, choices) => {
      expect(valueAt(parsePolicy({}, 'fund'), path)).toBe(value)
      for (const choice of choices) expect(tried(path, choice)).toBe(choice)
      for (const wrong of ['', 'None', 'both', null, 0, true, [value], {}]) {
        expect(tried(path, wrong), String(wrong)).toBe('refused')
      }
    },
  )

  it.each(FLAGS)('POLICY-1: %s is false by default and true or false', (path) => {
    expect(valueAt(parsePolicy({}, 'fund'), path)).toBe(false)
    expect([tried(path, true), tried(path, false)]).toEqual([true, false])
    for (const wrong of [0, 1, 'true', '', null, [], {}]) expect(tried(path, wrong)).toBe('refused')
  })

  it.each(TABLES)('POLICY-5: %s is replaced as a whole, not merged', (path, value, [min, max]) => {
    expect(valueAt(parsePolicy({}, 'fund'), path)).toEqual(value)
    const given = { OWN: min, OTHER: max }
    expect(valueAt(parsePolicy(at(path, given), 'fund'), path)).toEqual(given)
    expect(valueAt(parsePolicy(at(path, {}), 'fund'), path)).toEqual({})
    for (const wrong of [min - 1, max + 1, min + 0.5, null, String(min), true]) {
      expect(tried(path, { OWN: min, BAD: wrong }), String(wrong)).toBe('refused')
    }
    for (const wrong of [null, 5, 'x', [], [min], true]) {
      expect(tried(path, wrong), String(wrong)).toBe('refused')
    }
  })

  it.each([...LISTS, 'registry.requesters_allow'])(
    'POLICY-5: %s is a list of texts, replaced as a whole',
    (path) => {
      expect(valueAt(parsePolicy(at(path, ['x', 'y'])), path)).toEqual(['x', 'y'])
      expect(valueAt(parsePolicy(at(path, [])), path)).toEqual([])
      for (const wrong of [[''], ['x', ''], [1], [null], [['x']], 'x', {}, 5, true]) {
        expect(tried(path, wrong), JSON.stringify(wrong)).toBe('refused')
      }
    },
  )

  it('VALUE-5: an allow list that is null is none, one that is empty lets nobody pass', () => {
    expect(parsePolicy({}).registry.requestersAllow).toBeNull()
    expect(parsePolicy(at('registry.requesters_allow', null)).registry.requestersAllow).toBeNull()
    expect(parsePolicy(at('registry.requesters_allow', [])).registry.requestersAllow).toEqual([])
    expect(tried('registry.denied_regions', null)).toBe('refused')
  })

  it('QUOTA-4: the window of a requester is null or has both its jobs and its secs', () => {
    const path = 'queue.quotas.requester_window'
    expect(parsePolicy({}, 'fund').queue.quotas.requesterWindow).toBeNull()
    expect(tried(path, null)).toBeNull()
    for (const fits of [
      { jobs: 0, secs: 1 },
      { jobs: 1_000_000_000, secs: 86_400 },
    ]) {
      expect(tried(path, fits)).toEqual(fits)
    }
    const wrongs = [
      0,
      {},
      [],
      { jobs: 1 },
      { secs: 1 },
      { jobs: -1, secs: 1 },
      { jobs: 1_000_000_001, secs: 1 },
      { jobs: 1, secs: 0 },
      { jobs: 1, secs: 86_401 },
      { jobs: null, secs: 1 },
      { jobs: 1, secs: 1, per: 'day' },
      { jobs: '1', secs: 1 },
    ]
    for (const wrong of wrongs) expect(tried(path, wrong), JSON.stringify(wrong)).toBe('refused')
  })
})

describe('presets', () => {
  it.each(['fund', 'queue'] as const)(
    'POLICY-5: all of %s survives being written and read again',
    (preset) => {
      const policy = parsePolicy({}, preset)
      expect(parsePolicy(writtenForm(policy), 'fund')).toEqual(policy)
      expect(parsePolicy(writtenForm(policy), 'queue')).toEqual(policy)
    },
  )

  it('POLICY-4: queue differs from fund in the settings of the table only', () => {
    const fund = parsePolicy({}, 'fund')
    const queue = parsePolicy({}, 'queue')
    const differing = SETTINGS.map(({ path }) => path).filter(
      (path) => JSON.stringify(written(fund, path)) !== JSON.stringify(written(queue, path)),
    )
    expect(Object.fromEntries(differing.map((path) => [path, written(queue, path)]))).toEqual({
      'queue.quotas.leases_max_per_provider': 1_024,
      'queue.quotas.ai_units_per_epoch': null,
      'queue.quotas.quantum_units_per_epoch': null,
      'queue.lease.renewals_max': null,
      'queue.ttl.abs_default_task_secs': null,
      'queue.ttl.rel_max_secs': null,
      'queue.completion.ai_verification': 'none',
      'queue.completion.quantum_verification': 'none',
      'queue.completion.result_retention_secs': 0,
      'match.fairness': 'tenant',
      'match.ties': 'arrival',
      'registry.health': 'off',
      'registry.liveness': 'worker',
      'registry.min_stake.ai': 0,
      'registry.min_stake.quantum': 0,
    })
  })
  const written = (policy: Policy, path: string): unknown =>
    SETTINGS.find((setting) => setting.path === path)?.field.show(valueAt(policy, path))

  it('POLICY-4: under queue no kind needs stake or attestation, and no units run out', () => {
    const { registry, queue } = parsePolicy({}, 'queue')
    expect(Object.values(registry.minStake)).toEqual([0n, 0n, 0n, 0n])
    expect(Object.values(registry.attestationRequired)).toEqual([false, false, false, false])
    expect([
      queue.quotas.aiUnitsPerEpoch,
      queue.quotas.quantumUnitsPerEpoch,
      queue.quotas.taskUnitsPerEpoch,
      queue.quotas.registrationUnitsPerEpoch,
    ]).toEqual([null, null, null, null])
  })

  it('POLICY-4: queue applies unless another is chosen', () => {
    expect(parsePolicy({})).toEqual(parsePolicy({}, 'queue'))
    expect(parsePolicy(undefined)).toEqual(parsePolicy({}))
    expect(Object.keys(PRESETS)).toEqual(['fund', 'queue'])
  })

  it.each(['x', '', 'constructor', null, {}])(
    'POLICY-4: a preset that does not exist is refused by its name (%j)',
    (preset) => {
      expect(() => parsePolicy({}, preset as 'fund')).toThrow(
        expect.objectContaining({ code: 'InvalidParams', details: { field: 'preset' } }),
      )
    },
  )

  it('POLICY-5: what is given wins over the preset, and the rest of its section stays', () => {
    const policy = parsePolicy(at('queue.quotas.ai_units_per_epoch', 5), 'queue')
    expect(policy.queue.quotas.aiUnitsPerEpoch).toBe(5)
    expect(policy.queue.quotas.quantumUnitsPerEpoch).toBeNull()
    expect(policy.queue.quotas.leasesMaxPerProvider).toBe(1_024)
    expect(parsePolicy(at('match.fairness', 'score'), 'queue').match.fairness).toBe('score')
  })

  it('POLICY-5: a policy does not change when the object that it was read from does', () => {
    const given = {
      priority: { tiers: { FREE: 0, GOLD: 7 } },
      audit: { redact_keys: ['x'] },
      registry: { requesters_deny: ['a'] },
    }
    const policy = parsePolicy(given)
    const before = writtenForm(policy)
    given.priority.tiers.GOLD = 9
    given.audit.redact_keys.length = 0
    given.registry.requesters_deny.push('b')
    expect(writtenForm(policy)).toEqual(before)
  })
})

describe('a wrong policy', () => {
  it('POLICY-2: every setting can be wrong at once, and each is named', () => {
    const written: Written = {}
    for (const { path } of SETTINGS) put(written, path, wrongFor(path))
    const problems = problemsOf(written)
    expect(problems.map(pathOf).sort()).toEqual(SETTINGS.map(({ path }) => path).sort())
    for (const problem of problems)
      expect(problem).toMatch(/^[a-z0-9_.]+: expected .+, got ("wrong"|5)$/)
  })

  it('POLICY-2: exactly the wrong ones of any settings are named', () => {
    const lone = SETTINGS.filter(({ path }) => !path.startsWith('priority.weights'))
    fc.assert(
      fc.property(fc.subarray(lone), fc.subarray(lone), (wrong, right) => {
        const written: Written = {}
        for (const { path, field } of right) put(written, path, field.show(field.default))
        for (const { path } of wrong) put(written, path, wrongFor(path))
        expect(problemsOf(written).map(pathOf).sort()).toEqual(wrong.map(({ path }) => path).sort())
      }),
      { numRuns: 50 },
    )
  })

  it('POLICY-2: one problem is told as one, and several with their number', () => {
    expect(() => parsePolicy(at('queue.batch_size', 0))).toThrow(/1 problem:/)
    expect(() => parsePolicy({ queue: { batch_size: 0, max_depth: -1 } })).toThrow(/2 problems:/)
  })

  it.each([[null], [5], ['queue'], [true], [[]], [[{}]]])(
    'POLICY-2: %j is not a policy, and not a section of one',
    (wrong) => {
      expect(problemsOf(wrong)).toHaveLength(1)
      expect(problemsOf({ queue: wrong }).map(pathOf)).toEqual(['queue'])
      expect(problemsOf({ queue: { lease: wrong } }).map(pathOf)).toEqual(['queue.lease'])
      expect(
        problemsOf({ queue: { lease: wrong, batch_size: 0 }, chain: wrong })
          .map(pathOf)
          .sort(),
      ).toEqual(['chain', 'queue.batch_size', 'queue.lease'])
    },
  )

  it('POLICY-2: what JSON cannot show is a problem like any other', () => {
    const circle: Written = {}
    circle['self'] = circle
    for (const wrong of [5n, circle, () => 1, Symbol('x'), { deep: [5n] }]) {
      expect(problemsOf(at('queue.batch_size', wrong)).map(pathOf)).toEqual(['queue.batch_size'])
    }
  })

  it('POLICY-2: a long wrong value does not fill the message', () => {
    expect(problemsOf(at('queue.batch_size', 'x'.repeat(10_000)))[0]?.length).toBeLessThan(200)
  })

  it('POLICY-7: an unknown setting is a problem, at every level', () => {
    expect(problemsOf({ speed: 1 }).map(pathOf)).toEqual(['speed'])
    expect(problemsOf(at('queue.speed', 1)).map(pathOf)).toEqual(['queue.speed'])
    expect(problemsOf(at('queue.lease.speed', null)).map(pathOf)).toEqual(['queue.lease.speed'])
    expect(
      problemsOf({ a: 1, queue: { b: 2, lease: { c: 3 } } })
        .map(pathOf)
        .sort(),
    ).toEqual(['a', 'queue.b', 'queue.lease.c'])
    expect(problemsOf(at('queue.speed', 1))[0]).toContain('batch_size')
  })

  it.each([
    ['queue.maxDepth', 'max_depth'],
    ['queue.MAX_DEPTH', 'max_depth'],
    ['queue.max-depth', 'max_depth'],
    ['queue.lease.aiSecs', 'ai_secs'],
    ['Priority', 'priority'],
  ])('POLICY-7: %s is unknown, and %s is suggested', (path, suggestion) => {
    const problems = problemsOf(at(path, {}))
    expect(problems.map(pathOf)).toEqual([path])
    expect(problems[0]).toContain(`did you mean ${suggestion}?`)
  })

  it('POLICY-7: names that every object inherits are unknown settings too', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const section = JSON.parse(`{"${name}": {"batch_size": 1}}`) as Written
      expect(problemsOf(section).map(pathOf)).toEqual([name])
      expect(problemsOf({ queue: section }).map(pathOf)).toEqual([`queue.${name}`])
    }
    expect(() => parsePolicy(Object.create({ queue: { batch_size: 1 } }))).toThrow(/an object/)
  })
})

describe('settings that belong together', () => {
  const weights = (fee: number, age: number, size: number, tier: number) => ({
    priority: { weights: { fee, age, size, tier } },
  })

  it('POLICY-6: the weights add up to exactly 1', () => {
    expect(problemsOf(weights(0.4, 0.3, 0.2, 0.1))).toEqual([])
    expect(problemsOf(weights(1, 0, 0, 0))).toEqual([])
    expect(problemsOf(weights(0.333, 0.333, 0.333, 0.001))).toEqual([])
    expect(problemsOf(weights(0.1, 0.2, 0.3, 0.4))).toEqual([])
    for (const wrong of [
      weights(0.333, 0.333, 0.333, 0),
      weights(0.55, 0.25, 0.1, 0.101),
      weights(0, 0, 0, 0),
      weights(1, 1, 1, 1),
      at('priority.weights.fee', 0.5),
    ]) {
      expect(problemsOf(wrong).map(pathOf)).toEqual(['priority.weights'])
    }
  })

  it('POLICY-6: any four thousandths are accepted exactly when they add up to 1', () => {
    const thousandth = fc.integer({ min: 0, max: 1_000 })
    fc.assert(
      fc.property(thousandth, thousandth, thousandth, fc.boolean(), (a, b, c, exact) => {
        const rest = 1_000 - a - b - c + (exact ? 0 : 1)
        fc.pre(rest >= 0 && rest <= 1_000)
        const given = weights(a / 1_000, b / 1_000, c / 1_000, rest / 1_000)
        expect(problemsOf(given)).toHaveLength(exact ? 0 : 1)
        if (exact) {
          const { fee, age, size, tier } = parsePolicy(given).priority.weights
          expect([fee, age, size, tier]).toEqual([a, b, c, rest])
        }
      }),
    )
  })

  it('POLICY-3: more than three decimals are refused, also where the sum would fit', () => {
    const problems = problemsOf(weights(0.5555, 0.2445, 0.1, 0.1))
    expect(problems.map(pathOf)).toEqual(
      expect.arrayContaining(['priority.weights.fee', 'priority.weights.age']),
    )
    expect(problemsOf(weights(0.1 + 0.2, 0.5, 0.1, 0.1)).map(pathOf)).toContain(
      'priority.weights.fee',
    )
  })

  it('POLICY-2: a weight that is no number is one problem, not a wrong sum as well', () => {
    const wrong = { priority: { weights: { fee: 'x', age: 0.3, size: 0.1, tier: 0.1 } } }
    expect(problemsOf(wrong).map(pathOf)).toEqual(['priority.weights.fee'])
  })

  it('POLICY-6: the ack timeout is lower than every lease length', () => {
    const timed = (ack_timeout_ms: number, secs: number, key: string) => ({
      queue: {
        ack_timeout_ms,
        lease: {
          ai_secs: 900,
          quantum_secs: 900,
          task_secs: 900,
          registration_secs: 900,
          [key]: secs,
        },
      },
    })
    for (const key of ['ai_secs', 'quantum_secs', 'task_secs', 'registration_secs']) {
      expect(problemsOf(timed(4_999, 5, key))).toEqual([])
      const problems = problemsOf(timed(5_000, 5, key))
      expect(problems.map(pathOf)).toEqual(['queue.ack_timeout_ms'])
      expect(problems[0]).toContain(key)
    }
  })
})

describe('thousandths', () => {
  it('POLICY-3: a decimal of at most three places is its thousandths, any other is refused', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), (n) => {
        expect(exactThousandths(n / 1_000)).toBe(n)
      }),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.nat(1_000), (digit, n) => {
        expect(exactThousandths(Number(`0.${String(n).padStart(4, '0')}${digit}`))).toBeNull()
      }),
    )
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 1e-7, 1e21, 2e9, 5e-324, Math.PI]) {
      expect(exactThousandths(wrong), String(wrong)).toBeNull()
    }
  })
})

it.each(['queue', 'fund'] as const)(
  'POLICY-1: the policy %s is the same after it was shown',
  (preset) => {
    const policy = parsePolicy(
      { queue: { batch_size: 17 }, chain: { id: '18446744073709551615' } },
      preset,
    )
    const shown = JSON.parse(JSON.stringify(showPolicy(policy))) as unknown
    expect(parsePolicy(shown, 'queue')).toEqual(policy)
    expect(parsePolicy(shown, 'fund')).toEqual(policy)
  },
)

describe('the rules of admit', () => {
  it('ADMIT-2: they are read, and shown as they were written', () => {
    const admit = [
      { kind: 'ai', model: 'm1', requirements: [{ key: 'tpm:{model}', amount: 'tokens' }] },
      { caller: 'c', provider_id: 'provider:a', requirements: [{ key: '{caller}', amount: 2 }] },
    ]
    const policy = parsePolicy({ admit })
    expect(policy.admit[1]).toEqual({
      kind: null,
      model: null,
      providerId: 'provider:a',
      caller: 'c',
      requirements: [{ key: '{caller}', amount: 2 }],
    })
    expect(showPolicy(policy)['admit']).toEqual(admit)
    expect(parsePolicy({}).admit).toEqual([])
  })

  it('ADMIT-2: every problem of every rule is told at once, by its place', () => {
    const admit = [
      { kind: 'mining', model: '', requirements: [] },
      { models: 'm', requirements: [{ key: '{tenant}', amount: 0 }] },
      { kind: 'task', requirements: [{ key: 'x', amount: 'tokens', unit: 1 }] },
      7,
    ]
    const problems = problemsOf({ admit })
    for (const start of [
      'admit[0].kind: expected one of ai, quantum, task, registration',
      'admit[0].model: expected text',
      'admit[0].requirements: expected 1 to 32',
      'admit[1].models: there is no such setting',
      'admit[1].requirements[0].key: there is no {tenant}',
      'admit[1].requirements[0].amount: expected a whole number',
      'admit[2].requirements[0].unit: there is no such setting',
      'admit[2].requirements[0].amount: expected kind: ai',
      'admit[3]: expected an object',
    ]) {
      expect(
        problems.some((problem) => problem.startsWith(start)),
        start,
      ).toBe(true)
    }
    expect(problemsOf({ admit: {} })).toEqual([
      expect.stringMatching(/^admit: expected a list of at most 256 rules .+, got \{\}$/),
    ])
  })
})
