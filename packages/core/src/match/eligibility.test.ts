import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anyMarket,
  callerNamed,
  IDLE_PROVIDER,
  PLAIN_JOB,
  realJob,
  realMarket,
  realProvider,
  START,
} from '../../test/any-market.ts'
import type { PlainJob, PlainNeeds } from '../../test/plain-order.ts'
import { type PlainProvider, plainRefusal } from '../../test/plain-round.ts'
import { epochOf } from '../admit/quotas.ts'
import { type Policy, parsePolicy } from '../policy/policy.ts'
import type { Provider } from '../registry/provider.ts'
import { REFUSALS, type Refusal, refusalOf } from './eligibility.ts'

const CALLER = callerNamed(1)
const OTHER = callerNamed(2)

/** Each row: what differs from a pair that fits, and the reason, or null where it still fits. */
type Row = readonly [
  what: string,
  differs: {
    readonly provider?: Partial<PlainProvider>
    readonly job?: Partial<PlainJob>
    readonly policy?: object
    readonly windowFull?: boolean
  },
  reason: Refusal | null,
]

const attestationRequired = { registry: { attestation_required: { ai: true } } }
const minStake = { registry: { min_stake: { ai: 100, quantum: 50, task: 7 } } }
const leases = (n: number) => ({ queue: { quotas: { leases_max_per_provider: n } } })
const aiUnits = (n: number | null) => ({ queue: { quotas: { ai_units_per_epoch: n } } })
const epoch = Math.floor(START / 3_600_000)
const cooling = (until: number, model = 'm1', kind: 'ai' | 'task' = 'ai') => ({
  classCooldowns: [{ kind, model, until }],
})
const quantum = { kind: 'quantum', model: null, shots: 1_000, depthHint: 3 } as const

const STATUS: Row[] = [
  ['a pair that fits', {}, null],
  ['a provider that is REGISTERED', { provider: { status: 'REGISTERED' } }, 'provider_not_active'],
  ['one that is JAILED', { provider: { status: 'JAILED' } }, 'provider_not_active'],
  ['one that is SUSPENDED', { provider: { status: 'SUSPENDED' } }, 'provider_not_active'],
  ['one that is RETIRED', { provider: { status: 'RETIRED' } }, 'provider_not_active'],
  ['no attestation where none is required', { provider: { attestation: null } }, null],
  ['no attestation where one is required', attested(null), 'attestation_invalid'],
  ['an attestation from now on', attested([0, 10]), null],
  ['an attestation from the next millisecond on', attested([1, 10]), 'attestation_invalid'],
  ['an attestation up to the next millisecond', attested([-10, 1]), null],
  ['an attestation up to now', attested([-10, 0]), 'attestation_invalid'],
  ['an attestation of a class that names the kind', classed(['ai']), null],
  ['an attestation of a class that names another', classed(['quantum']), 'attestation_invalid'],
  [
    'no attestation where only another kind requires one',
    {
      policy: { registry: { attestation_required: { quantum: true } } },
      provider: { attestation: null },
    },
    null,
  ],
]

const CONDITION: Row[] = [
  [
    'just the minimum stake',
    { policy: minStake, provider: { stake: 100n, capabilities: ['ai'] } },
    null,
  ],
  [
    'one less than the minimum stake',
    { policy: minStake, provider: { stake: 99n, capabilities: ['ai'] } },
    'stake_below_minimum',
  ],
  [
    'one less than the stakes of all kinds offered',
    { policy: minStake, provider: { stake: 156n, capabilities: ['ai', 'quantum', 'task'] } },
    'stake_below_minimum',
  ],
  [
    'the stakes of all kinds offered',
    { policy: minStake, provider: { stake: 157n, capabilities: ['ai', 'quantum', 'task'] } },
    null,
  ],
  [
    'a provider last heard from a heartbeat timeout ago',
    { provider: { lastHeartbeat: START - 180_000 } },
    null,
  ],
  [
    'one last heard from a millisecond before that',
    { provider: { lastHeartbeat: START - 180_001 } },
    'heartbeat_stale',
  ],
  ['health at the minimum', { provider: { health: 600 } }, null],
  ['health below the minimum', { provider: { health: 599 } }, 'unhealthy'],
  ['a cooldown until now', { provider: { cooldownUntil: START } }, null],
  ['a cooldown beyond now', { provider: { cooldownUntil: START + 1 } }, 'cooling_down'],
]

/** Under these settings what a provider went through says nothing. */
const withoutHealth = { registry: { health: 'off' } }
const byWorkers = { registry: { liveness: 'worker' } }
const silent = { lastHeartbeat: START - 180_001 }

const WITHOUT_HEALTH: Row[] = [
  ['no health at all', { policy: withoutHealth, provider: { health: 0 } }, null],
  ['a cooldown', { policy: withoutHealth, provider: { cooldownUntil: START + 1 } }, null],
  [
    'a cooldown of the class',
    {
      policy: withoutHealth,
      provider: { classCooldowns: [{ kind: 'ai', model: 'm1', until: START + 1 }] },
    },
    null,
  ],
  [
    'a denial for the job',
    { policy: withoutHealth, job: { denials: { 'provider:a': START + 1 } } },
    'denied_for_job',
  ],
  [
    'a provider that is SUSPENDED',
    { policy: withoutHealth, provider: { status: 'SUSPENDED' } },
    'provider_not_active',
  ],
  [
    'silence where heartbeats count',
    { policy: withoutHealth, provider: silent },
    'heartbeat_stale',
  ],
  ['silence where workers count', { policy: byWorkers, provider: silent }, null],
  ['low health where workers count', { policy: byWorkers, provider: { health: 599 } }, 'unhealthy'],
]

const asked = (given: Partial<PlainNeeds>): Pick<PlainJob, 'needs'> => ({
  needs: { precision: null, widthHint: 0, gates: null, ...given },
})
const wide = { ...quantum, ...asked({ widthHint: 5 }) }
const gated = { ...quantum, ...asked({ gates: ['cx', 'h'] }) }

const NEEDS: Row[] = [
  ['a precision, of any provider', { job: asked({ precision: ['fp8'] }) }, null],
  [
    'a precision that the provider has',
    { job: asked({ precision: ['fp16', 'fp8'] }), provider: { precision: ['fp8', 'int4'] } },
    null,
  ],
  [
    'a precision that it has not',
    { job: asked({ precision: ['fp16'] }), provider: { precision: ['fp8', 'fp'] } },
    'model_unsupported',
  ],
  ['no precision, of a provider with some', { provider: { precision: ['fp8'] } }, null],
  ['no precision, of a provider with none', { job: asked({}), provider: { precision: [] } }, null],
  ['a width, of any provider', { job: wide }, null],
  ['the greatest width', { job: wide, provider: { maxWidth: 5 } }, null],
  ['one qubit more', { job: wide, provider: { maxWidth: 4 } }, 'circuit_unsupported'],
  ['no width, of a provider with 0 qubits', { job: quantum, provider: { maxWidth: 0 } }, null],
  ['gates, of any provider', { job: gated }, null],
  ['gates that it can run', { job: gated, provider: { gates: ['h', 'x', 'cx'] } }, null],
  [
    'one gate that it cannot run',
    { job: gated, provider: { gates: ['h', 'x'] } },
    'circuit_unsupported',
  ],
  ['no gates, of a provider that can run none', { job: quantum, provider: { gates: [] } }, null],
  [
    'a model before a precision',
    { job: asked({ precision: ['fp16'] }), provider: { models: [], precision: [] } },
    'model_unsupported',
  ],
]

const OFFER: Row[] = [
  ['an offer of another kind', { provider: { capabilities: ['quantum'] } }, 'capability_missing'],
  ['an offer of no kind', { provider: { capabilities: [] } }, 'capability_missing'],
  ['a list of other models', { provider: { models: ['m2', 'M1', 'm'] } }, 'model_unsupported'],
  ['a list of no models', { provider: { models: [] } }, 'model_unsupported'],
  ['a list with the model', { provider: { models: ['m2', 'm1'] } }, null],
  ['a list of any model', { provider: { models: ['*'] } }, null],
  ['a task of another name', { job: { kind: 'task', model: 'm9' } }, 'model_unsupported'],
  ['a task by its name', { job: { kind: 'task', model: 'm1' } }, null],
  ['a circuit for a provider without models', { job: quantum, provider: { models: [] } }, null],
  ['a circuit of the greatest depth', { job: quantum, provider: { maxDepth: 3 } }, null],
  ['a deeper circuit', { job: quantum, provider: { maxDepth: 2 } }, 'circuit_unsupported'],
  [
    'a circuit where 0 is the greatest depth',
    { job: quantum, provider: { maxDepth: 0 } },
    'circuit_unsupported',
  ],
  ['the greatest number of shots', { job: quantum, provider: { maxShots: 1_000 } }, null],
  ['one shot more', { job: quantum, provider: { maxShots: 999 } }, 'circuit_unsupported'],
  ['an ai job, whatever the limits of circuits,', { provider: { maxDepth: 0, maxShots: 0 } }, null],
]

const REGION: Row[] = [
  ['a job that names no region', {}, null],
  [
    'a provider without region where the job names one',
    { job: { regions: ['eu'] } },
    'region_denied',
  ],
  [
    'a provider in one of the regions named',
    { job: { regions: ['us', 'eu'] }, provider: { region: 'eu' } },
    null,
  ],
  [
    'a provider in none of the regions named',
    { job: { regions: ['us'] }, provider: { region: 'eu' } },
    'region_denied',
  ],
  [
    'any provider where the job names an empty list',
    { job: { regions: [] }, provider: { region: 'eu' } },
    'region_denied',
  ],
  ['a region that policy denies', denied('eu', null), 'region_denied'],
  ['a region that policy denies and the job names', denied('eu', ['eu']), 'region_denied'],
  ['a region that policy does not deny', denied('us', null), null],
  ['a provider without region where policy denies one', denied(null, null), null],
]

const CALLER_LISTS: Row[] = [
  ['a caller denied by the provider', { provider: { deny: [OTHER, CALLER] } }, 'requester_denied'],
  ['a caller where another is denied', { provider: { deny: [OTHER] } }, null],
  ['a caller allowed by the provider', { provider: { allow: [CALLER] } }, null],
  ['a caller where another is allowed', { provider: { allow: [OTHER] } }, 'requester_denied'],
  ['a caller where nobody is allowed', { provider: { allow: [] } }, 'requester_denied'],
  [
    'a caller both allowed and denied by the provider',
    { provider: { allow: [CALLER], deny: [CALLER] } },
    'requester_denied',
  ],
  ['a caller denied by policy', lists({ requesters_deny: [CALLER] }), 'requester_denied'],
  ['a caller allowed by policy', lists({ requesters_allow: [CALLER] }), null],
  [
    'a caller where policy allows another',
    lists({ requesters_allow: [OTHER] }),
    'requester_denied',
  ],
  ['a caller where policy allows nobody', lists({ requesters_allow: [] }), 'requester_denied'],
  [
    'a caller allowed by the provider, not by policy,',
    { ...lists({ requesters_allow: [OTHER] }), provider: { allow: [CALLER] } },
    'requester_denied',
  ],
  [
    'a caller allowed by policy, not by the provider,',
    { ...lists({ requesters_allow: [CALLER] }), provider: { allow: [OTHER] } },
    'requester_denied',
  ],
]

const LOAD: Row[] = [
  ['one lease below the cap', { policy: leases(3), provider: { leases: 2 } }, null],
  [
    'as many leases as the cap',
    { policy: leases(3), provider: { leases: 3 } },
    'lease_cap_reached',
  ],
  ['a cap of zero leases', { policy: leases(0) }, 'lease_cap_reached'],
  ['as many leases as it declared', { provider: { leases: 2, leasesMax: 2 } }, 'lease_cap_reached'],
  ['a declared cap of zero', { provider: { leasesMax: 0 } }, 'lease_cap_reached'],
  [
    'a provider at the cap that declared a higher one',
    { policy: leases(3), provider: { leases: 3, leasesMax: 9 } },
    'lease_cap_reached',
  ],
  [
    'a job that just reaches the units of the epoch',
    { policy: aiUnits(5), provider: units(3) },
    null,
  ],
  [
    'a job of one unit too many',
    { policy: aiUnits(5), provider: units(4) },
    'epoch_units_exhausted',
  ],
  ['a cap of zero units', { policy: aiUnits(0) }, 'epoch_units_exhausted'],
  ['any number of units without a cap', { policy: aiUnits(null), provider: units(10 ** 9) }, null],
  [
    'a provider that used its units in other epochs',
    { policy: aiUnits(5), provider: { units: { [`ai@${epoch - 1}`]: 5, [`ai@${epoch + 1}`]: 5 } } },
    null,
  ],
  [
    'a provider that used its units for another kind',
    { policy: aiUnits(5), provider: { units: { [`quantum@${epoch}`]: 5 } } },
    null,
  ],
]

const HISTORY: Row[] = [
  ['a class cooldown until now', { provider: cooling(START) }, null],
  ['a class cooldown beyond now', { provider: cooling(START + 1) }, 'class_cooling_down'],
  ['a class cooldown of another model', { provider: cooling(START + 1, 'm2') }, null],
  ['a class cooldown of another kind', { provider: cooling(START + 1, 'm1', 'task') }, null],
  ['a denial until now', { job: { denials: { 'provider:a': START } } }, null],
  ['a denial beyond now', { job: { denials: { 'provider:a': START + 1 } } }, 'denied_for_job'],
  ['a denial of another provider', { job: { denials: { 'provider:b': START + 1 } } }, null],
]

const WINDOW: Row[] = [
  ['a caller whose window is full', { windowFull: true }, 'requester_rate_limited'],
  ['a caller whose window has room', { windowFull: false }, null],
]

describe('each check, and both sides of its boundary', () => {
  describe('MATCH-12: status and attestation', () => each(STATUS))
  describe('MATCH-13: stake, heartbeat, health and cooldown', () => each(CONDITION))
  describe('HEALTH-7: where health is off', () => each(WITHOUT_HEALTH))
  describe('MATCH-14: kind and model', () => each(OFFER.slice(0, 8)))
  describe('MATCH-15: circuits', () => each(OFFER.slice(8)))
  describe('ENQUEUE-16: needs', () => each(NEEDS))
  describe('MATCH-16: regions', () => each(REGION))
  describe('MATCH-4: lists of callers', () => each(CALLER_LISTS))
  describe('MATCH-17: leases and units', () => each(LOAD))
  describe('MATCH-18: what the provider went through', () => each(HISTORY))
  describe('MATCH-19: the window of the caller', () => each(WINDOW))
})

function each(rows: readonly Row[]): void {
  for (const [what, differs, reason] of rows) {
    it(`${what} ${reason === null ? 'fits' : `is refused as ${reason}`}`, () => {
      expect(refusalOf(...pair(differs))).toBe(reason)
    })
  }
}

describe('their order', () => {
  it('MATCH-3: the first check that fails is the reason, in the order of the rules', () => {
    // Everything is wrong at first; each fault that is mended shows the next.
    const faults: [Refusal, Partial<PlainProvider> & { job?: Partial<PlainJob> }][] = [
      ['provider_not_active', { status: 'SUSPENDED' }],
      ['attestation_invalid', { attestation: null }],
      ['stake_below_minimum', { stake: 0n }],
      ['heartbeat_stale', { lastHeartbeat: 0 }],
      ['unhealthy', { health: 0 }],
      ['cooling_down', { cooldownUntil: START + 1 }],
      ['capability_missing', { capabilities: ['quantum'] }],
      ['model_unsupported', { models: ['m2'] }],
      ['region_denied', { region: 'eu' }],
      ['requester_denied', { deny: [CALLER] }],
      ['lease_cap_reached', { leases: 99 }],
      ['epoch_units_exhausted', units(10 ** 9)],
      ['class_cooling_down', cooling(START + 1)],
      ['denied_for_job', { job: { denials: { 'provider:a': START + 1 } } }],
    ]
    const policy = {
      registry: { attestation_required: { ai: true }, min_stake: { ai: 1, quantum: 1 } },
    }
    for (let mended = 0; mended < faults.length; mended++) {
      const left = faults.slice(mended).map(([, fault]) => fault)
      const { job = {}, ...provider } = Object.assign({}, ...left)
      const regions = provider.region === 'eu' ? ['us'] : null
      const good = {
        stake: 2n,
        attestation: { notBefore: START, notAfter: START + 1 },
        ...provider,
      }
      const [reason] = faults[mended] as (typeof faults)[number]
      const differs = { policy, provider: good, job: { regions, ...job }, windowFull: true }
      expect(refusalOf(...pair(differs))).toBe(reason)
    }
    const provider = { stake: 2n, attestation: { notBefore: START, notAfter: START + 1 } }
    expect(refusalOf(...pair({ policy, provider, windowFull: true }))).toBe(
      'requester_rate_limited',
    )
  })

  it('MATCH-3: a circuit is checked after the kind and before the region', () => {
    const job = { ...quantum, regions: ['us'] }
    const deep = { maxDepth: 1, region: 'eu' }
    const missing = pair({ job, provider: { ...deep, capabilities: ['ai'] } })
    expect(refusalOf(...missing)).toBe('capability_missing')
    expect(refusalOf(...pair({ job, provider: deep }))).toBe('circuit_unsupported')
    expect(refusalOf(...pair({ job, provider: { region: 'eu' } }))).toBe('region_denied')
  })

  it('MATCH-3: there are seventeen reasons, named as in the rules', () => {
    expect(REFUSALS.join(' · ')).toBe(
      'provider_not_active · attestation_invalid · stake_below_minimum · heartbeat_stale · unhealthy · ' +
        'cooling_down · capability_missing · model_unsupported · circuit_unsupported · region_denied · ' +
        'requester_denied · lease_cap_reached · epoch_units_exhausted · class_cooling_down · ' +
        'denied_for_job · requester_rate_limited · limit_exhausted',
    )
  })

  it('MATCH-3: over any market every pair has the reason that the rules give', () => {
    fc.assert(
      fc.property(anyMarket({ jobs: 8, providers: 5 }), (market) => {
        const { jobs, pool, windows } = realMarket(market)
        const { policy, now } = market
        const window = policy.queue.quotas.requesterWindow
        const terms = {
          nowMs: now,
          policy,
          epoch: epochOf(now, policy),
          isWindowFull: (caller: PlainJob['caller']) =>
            window !== null && windows.count(caller, now, policy) >= window.jobs,
          admit: null,
        }
        for (const job of market.jobs) {
          for (const provider of market.providers) {
            const real = jobs.get(job.id)
            const other = pool.get(provider.id)
            if (real === undefined || other === undefined) throw new Error('nobody left')
            const got = refusalOf(other, real, terms)
            if (got !== plainRefusal(provider, job, market)) {
              expect({ provider, job, got }).toEqual({
                provider,
                job,
                got: plainRefusal(provider, job, market),
              })
            }
          }
        }
      }),
      { numRuns: 500 },
    )
  })
})

function pair(differs: Row[1]): Parameters<typeof refusalOf> {
  const policy = parsePolicy(withoutStake(differs.policy ?? {}), 'fund')
  const provider = providerWith(differs.provider ?? {})
  const job = realJob(jobWith(differs.job ?? {}))
  return [provider, job, termsOf(policy, differs.windowFull ?? false)]
}

function termsOf(policy: Policy, windowFull: boolean): Parameters<typeof refusalOf>[2] {
  return {
    nowMs: START,
    policy,
    epoch,
    isWindowFull: (caller) => windowFull && caller === CALLER,
    admit: null,
  }
}

/** A minimum stake of zero, unless the row is about it. */
function withoutStake(written: { registry?: { min_stake?: object } }): object {
  const min_stake = { ai: 0, quantum: 0, task: 0, ...written.registry?.min_stake }
  return { ...written, registry: { ...written.registry, min_stake } }
}

function classed(kinds: readonly string[]): Row[1] {
  const attestation_classes = { tee: { kinds, roots: [] } }
  const attestation = { notBefore: START, notAfter: START + 10, className: 'tee' }
  return {
    policy: { registry: { ...attestationRequired.registry, attestation_classes } },
    provider: { attestation },
  }
}

function attested(span: readonly [number, number] | null): Row[1] {
  const attestation = span && { notBefore: START + span[0], notAfter: START + span[1] }
  return { policy: attestationRequired, provider: { attestation } }
}

function denied(region: string | null, regions: readonly string[] | null): Row[1] {
  return {
    policy: { registry: { denied_regions: ['eu'] } },
    provider: { region },
    job: { regions },
  }
}

function lists(registry: object): Row[1] {
  return { policy: { registry } }
}

function units(used: number): Partial<PlainProvider> {
  return { units: { [`ai@${epoch}`]: used } }
}

function providerWith(given: Partial<PlainProvider>): Provider {
  return realProvider({ ...IDLE_PROVIDER, models: ['m1'], stake: 0n, ...given })
}

/** Two units of ai. */
function jobWith(given: Partial<PlainJob>): PlainJob {
  return { ...PLAIN_JOB, maxTokens: 200, ...given }
}
