import type { JobRow, KindName } from '@fairlead/core'
import { BAD_TASKS } from '../actors/worker.ts'
import type { Dice } from '../dice.ts'
import type { CallerPlan, FaultRates, Profile, ProviderPlan, Scenario } from './scenario.ts'

const KINDS: ReadonlySet<KindName> = new Set(['ai', 'quantum', 'task', 'registration'])
const CALLERS: readonly CallerPlan[] = [
  { name: 'ann', tier: 'FREE' },
  { name: 'bob', tier: 'PRO' },
  { name: 'cyd', tier: 'FREE' },
  { name: 'dee', tier: 'PREMIUM' },
]
const ALL_PROFILES: readonly Profile[] = [
  'honest',
  'slow',
  'crasher',
  'repeater',
  'reorderer',
  'decliner',
  'failing',
  'liar',
  'flapping',
]

/** Short times, so that everything happens often. */
function shortTimes(dice: Dice): Readonly<Record<string, unknown>> {
  return {
    ack_timeout_ms: dice.pick([400, 1_500]),
    worker_lost_ms: dice.pick([200, 600, 3_000]),
    worker_lost_registration_ms: dice.pick([2_000, 3_000]),
    lease: {
      ai_secs: dice.pick([2, 4]),
      quantum_secs: 3,
      task_secs: dice.pick([2, 5]),
      registration_secs: dice.pick([2, 4]),
      renewals_max: dice.pick([2, 2, null]),
    },
    retries: {
      attempt_max: dice.pick([2, 3, 4]),
      base_backoff_ai_secs: 1,
      base_backoff_quantum_secs: 1,
      base_backoff_task_secs: 1,
      backoff_cap_secs: 3,
      backoff_factor: dice.pick([2, 2, 1.5]),
      worker_lost_max: dice.pick([1, 2, 3, 3, null]),
    },
    ttl: {
      abs_default_ai_secs: dice.pick([25, 60]),
      abs_default_quantum_secs: 20,
      abs_default_task_secs: dice.pick([30, 30, null]),
      abs_default_registration_secs: dice.pick([10, 25]),
      rel_max_secs: dice.pick([12, 40, null]),
      gc_horizon_secs: 75,
    },
    completion: { result_retention_secs: dice.pick([0, 30, 200, null]) },
  }
}

const LENIENT = {
  heartbeat_timeout_ms: 600_000,
  heartbeat_interval_ms: 60_000,
  min_health: 0,
  cooldown_after: 9,
}
const STRICT = {
  heartbeat_timeout_ms: 12_000,
  heartbeat_interval_ms: 2_000,
  min_health: 300,
  cooldown_after: 4,
}

/** Mostly health is off, and strict settings must not matter; at times it is on. */
function changingHealth(dice: Dice): Readonly<Record<string, unknown>> {
  if (!dice.oneIn(3)) return STRICT
  return { ...LENIENT, health: 'on', liveness: dice.pick(['heartbeat', 'worker']) }
}

/** Short windows and small budgets; of the platforms two know idempotency keys, and two can be asked. */
const SESSIONS = {
  platforms: {
    default: {
      max_concurrency: 2,
      burst: 3,
      max_rps: 4.5,
      min_spacing_ms: 20,
      window_ms: 5_000,
      backoff_ms: [100, 300],
    },
    keyed: { idempotency_key_supported: true, weights: { art0: 3, ski0: 2, swim1: 4 } },
    asks: {
      lookup_supported: true,
      error_taxonomy: { glitch: 'unknown' },
      retry_on_http: [429, 500],
      max_concurrency: 4,
    },
    both: {
      idempotency_key_supported: true,
      lookup_supported: true,
      error_taxonomy: { '503': 'unknown', glitch: 'unknown' },
    },
  },
}

function cast(
  dice: Dice,
  count: number,
  profiles: readonly Profile[] = ALL_PROFILES,
): ProviderPlan[] {
  return Array.from({ length: count }, (_, i) => ({
    name: String.fromCharCode(97 + i),
    workers: Array.from({ length: dice.between(1, 2) }, () => ({
      slots: dice.between(1, 3),
      profile: dice.pick(profiles),
    })),
    stake: 100_000n,
    offer: {
      capabilities: KINDS,
      models: new Set(dice.pick([['*'], ['*'], ['m1', 'm2', 'resize']])),
      platforms: new Set(dice.pick([['*'], ['*'], ['plain', 'asks']])),
      region: dice.pick(['eu', 'us', null]),
      leasesMax: dice.pick([null, null, 2]),
      maxDepth: dice.pick([null, 8]),
      maxWidth: dice.pick([null, null, 8]),
      gates: dice.pick([null, null, new Set(['cx', 'rz'])]),
      precision: dice.pick([null, null, new Set(['fp16', 'fp32'])]),
    },
  }))
}

const BASE: Scenario = {
  name: 'mixed',
  about: 'a bit of everything, by fair shares',
  preset: 'queue',
  proofs: 'none',
  policy: (dice) => ({
    queue: {
      ...shortTimes(dice),
      quotas: { leases_max_per_provider: dice.pick([2, 3, 5]), epoch_secs: 10 },
    },
    registry: changingHealth(dice),
    sessions: SESSIONS,
    audit: { pii_retention_secs: dice.pick([5, 40, 90]) },
  }),
  callers: CALLERS,
  kinds: { ai: 5, quantum: 2, task: 3, registration: 2 },
  tasks: ['resize', 'resize', 'render', 'render', 'poison'],
  mustSucceed: () => false,
  options: 'all',
  providers: (dice) => cast(dice, 6),
  actors: {
    ...{ caller: 20, worker: 52, operator: 3, clock: 19, store: 3, restart: 1, reader: 2 },
    ...{ prover: 0, chain: 0 },
  },
  clock: { tick: 70, walk: 10, edge: 16, leap: 2, back: 2 },
  operator: {
    ...{ policy: 6, status: 3, revive: 6, stake: 1, offer: 4, cancel: 2, opening: 1 },
    ...{ unstake: 0, payout: 0, close: 0, key: 0, pause: 2, bulk: 1 },
  },
  faults: {
    fails: 90,
    lost: 120,
    late: 25,
    loadFails: 8,
    readFails: 150,
    outage: 400,
    applyFails: 90,
    applyLate: 25,
    applyOutage: 400,
    cut: 600,
    defect: 600,
  },
  limits: [],
  liveMax: 40,
  oddOneIn: 15,
  repeatOneIn: 6,
  cancelOneIn: 14,
  scheduleOneIn: 40,
  dedupeOneIn: 0,
  reportOneIn: 0,
  isUniform: false,
  withBound: false,
}

/** A store that often fails. */
const TROUBLE: FaultRates = {
  fails: 40,
  lost: 40,
  late: 10,
  loadFails: 6,
  readFails: 60,
  outage: 120,
  applyFails: 40,
  applyLate: 10,
  applyOutage: 200,
  cut: 300,
  defect: 300,
}

/** Health, stakes and statuses count, and few lose their right to work by them alone. */
const PROVED: Partial<Scenario> = {
  preset: 'fund',
  kinds: { ai: 5, quantum: 4, task: 1, registration: 0 },
  providers: (dice) =>
    cast(dice, 4, ['honest', 'honest', 'honest', 'honest', 'slow', 'repeater', 'failing']),
  actors: {
    ...{ caller: 9, worker: 50, operator: 7, clock: 16, store: 4, restart: 1, reader: 2 },
    ...{ prover: 14, chain: 0 },
  },
  clock: { tick: 56, walk: 20, edge: 20, leap: 2, back: 2 },
  operator: {
    ...{ policy: 3, status: 2, revive: 5, stake: 6, offer: 2, cancel: 3, opening: 0 },
    ...{ unstake: 4, payout: 8, close: 5, key: 2, pause: 0, bulk: 0 },
  },
  cancelOneIn: 10,
}

/** Epochs of some seconds and few samples: bands, slashes and jail all the time. */
function fundTerms(dice: Dice, chain: Readonly<Record<string, unknown>>) {
  const samples = dice.pick([1, 2, 3])
  return {
    queue: {
      ...shortTimes(dice),
      completion: { proof_timeout_secs: dice.pick([3, 6]), result_retention_secs: 200 },
      quotas: { leases_max_per_provider: dice.pick([2, 4]), epoch_secs: 5 },
    },
    registry: {
      ...LENIENT,
      min_stake: { ai: 1_000, quantum: 1_000, task: 0 },
      unstake_delay_secs: dice.pick([0, 5, 25]),
    },
    chain,
    economics: {
      gamma_fund: dice.pick([null, 1_500, 20_000, 60_000]),
      cap: dice.pick(['defer', 'defer', 'scale']),
      carry_ppm: dice.pick([0, 500_000, 1_000_000]),
      model_rate: { m2: 2_345 },
      max_per_claim: dice.pick([1_000_000, 9_999]),
    },
    sla: {
      window: dice.pick([5, 12, 30]),
      min_samples: dice.pick([1, 3]),
      bands: {
        gold: { p95_ms: 50, fail_ppm: 100_000, availability_ppm: 900_000 },
        silver: { p95_ms: 150, fail_ppm: 250_000, availability_ppm: 700_000 },
        bronze: { p95_ms: 400, fail_ppm: 400_000, availability_ppm: 500_000 },
      },
      slash: {
        traps: { samples: 50 * samples },
        fails: { samples: dice.pick([samples, 200]) },
        latency: { samples, minor: 30, major: 300 },
        availability: { samples },
      },
      severity: {
        minor: { slash: dice.pick([300, 10_000]) },
        major: { slash: 30_001, cooldown_epochs: 1 },
        critical: { slash: 90_000, cooldown_epochs: 1, jail_epochs: 1 },
      },
      offence_epochs: dice.pick([1, 2, 8]),
    },
  }
}

/** Completions are taken at their word. */
const UNPROVED = { ai_verification: 'none', quantum_verification: 'none' }

/** The worlds that are simulated, each with a weakness of its own to look for. */
export const SCENARIOS: readonly Scenario[] = [
  BASE,
  {
    ...BASE,
    name: 'score',
    about: 'by score with starvation picks, stakes and unit quotas, every order of matching',
    preset: 'fund',
    policy: (dice) => ({
      queue: {
        ...shortTimes(dice),
        completion: UNPROVED,
        starvation_k: dice.pick([2, 4, 7]),
        quotas: {
          leases_max_per_provider: dice.pick([2, 4]),
          ai_units_per_epoch: dice.pick([30, 60, 120]),
          quantum_units_per_epoch: dice.pick([20, null]),
          epoch_secs: 10,
        },
      },
      match: { order: dice.pick(['first-fit', 'rotate', 'score']) },
      registry: STRICT,
    }),
    kinds: { ...BASE.kinds, registration: 0 },
  },
  {
    ...BASE,
    ...PROVED,
    name: 'fund',
    about:
      'work that is proved and paid: lies, slashes, jail, deferred payments, closes at any time',
    proofs: 'sent',
    policy: (dice) => fundTerms(dice, { miner_id: dice.pick(['operator', 'm1']) }),
  },
  {
    ...BASE,
    ...PROVED,
    name: 'chain',
    about: 'proofs in blocks of a chain that reorganises, stands still and repeats itself',
    proofs: 'chain',
    policy: (dice) => fundTerms(dice, { source: 'blocks', finality_k: dice.pick([1, 4, 8]) }),
    actors: { ...BASE.actors, ...PROVED.actors, chain: 20 },
    faults: TROUBLE,
  },
  {
    ...BASE,
    name: 'tight',
    about: 'small caps, windows and quotas, a queue that is soon full',
    policy: (dice) => ({
      queue: {
        ...shortTimes(dice),
        max_depth: dice.pick([12, 30]),
        max_per_caller: dice.pick([5, null]),
        quotas: {
          leases_max_per_provider: dice.pick([1, 2]),
          task_units_per_epoch: dice.pick([3, 8]),
          ai_units_per_epoch: dice.pick([40, 100]),
          requester_window: dice.oneIn(4)
            ? null
            : { jobs: dice.pick([2, 4, 6]), secs: dice.pick([2, 5, 9]) },
          epoch_secs: 10,
        },
      },
      match: { fairness: dice.pick(['tenant', 'tenant', 'score']) },
      registry: changingHealth(dice),
      sessions: SESSIONS,
      audit: { pii_retention_secs: dice.pick([5, 40, 90]) },
    }),
    providers: (dice) => cast(dice, 8),
    actors: { ...BASE.actors, caller: 34 },
  },
  {
    ...BASE,
    name: 'storm',
    about: 'a store that fails all the time, and restarts',
    actors: { ...BASE.actors, store: 8, restart: 3 },
    faults: {
      fails: 30,
      lost: 30,
      late: 6,
      loadFails: 4,
      readFails: 30,
      outage: 60,
      applyFails: 20,
      applyLate: 6,
      applyOutage: 100,
      cut: 120,
      defect: 200,
    },
  },
  {
    ...BASE,
    name: 'clock',
    about: 'suspended processes, clocks that go back, calls at the very edge of a deadline',
    actors: { ...BASE.actors, clock: 40, restart: 2 },
    clock: { tick: 20, walk: 10, edge: 60, leap: 8, back: 8 },
  },
  {
    ...BASE,
    name: 'order',
    about: 'jobs that differ in fee and time only, and few to take them: who is first',
    policy: (dice) => ({
      queue: {
        ...shortTimes(dice),
        starvation_k: dice.pick([3, 1_000_000]),
        batch_size: dice.pick([1, 3, 256]),
        quotas: { leases_max_per_provider: dice.pick([1, 2]) },
      },
      match: {
        fairness: dice.pick(['score', 'tenant']),
        ties: dice.pick(['arrival', 'arrival', 'pair_hash']),
      },
      registry: changingHealth(dice),
    }),
    callers: [
      { name: 'ann', tier: 'FREE' },
      { name: 'bob', tier: 'PRO' },
    ],
    kinds: { ai: 1, quantum: 0, task: 0, registration: 0 },
    providers: (dice) => cast(dice, 2, ['honest', 'honest', 'slow', 'failing']),
    actors: { ...BASE.actors, caller: 34, operator: 1 },
    isUniform: true,
  },
  {
    ...BASE,
    name: 'limits',
    about: 'tokens, calls and jobs at one time are limited; restarts and a store that fails',
    policy: (dice) => ({
      queue: {
        ...shortTimes(dice),
        batch_size: dice.pick([2, 256]),
        quotas: { leases_max_per_provider: dice.pick([3, 5]) },
      },
      match: {
        fairness: dice.pick(['score', 'tenant']),
        order: dice.pick(['first-fit', 'rotate']),
      },
      admit: [
        {
          kind: 'ai',
          requirements: [
            { key: 'tokens', amount: 'tokens' },
            { key: 'calls:{model}', amount: 1 },
          ],
        },
        { kind: 'task', requirements: [{ key: 'running', amount: 1 }] },
      ],
      registry: changingHealth(dice),
    }),
    kinds: { ...BASE.kinds, registration: 0 },
    limits: [
      {
        limit: { key: 'tokens', kind: 'rolling', capacity: 5_000, windowSecs: 4 },
        amountOf: ({ kind, tokens }) => (kind === 'ai' ? tokens : 0),
      },
      ...['m1', 'm2', 'm3'].map((name) => ({
        limit: { key: `calls:${name}`, kind: 'rolling' as const, capacity: 3, windowSecs: 2 },
        amountOf: ({ kind, model }: JobRow) => (kind === 'ai' && model === name ? 1 : 0),
      })),
      {
        // No number of restarts, each after hours, adds up to this.
        limit: { key: 'running', kind: 'concurrency', capacity: 3, timeoutSecs: 10_000_000 },
        amountOf: ({ kind }) => (kind === 'task' ? 1 : 0),
      },
    ],
    actors: { ...BASE.actors, caller: 30, store: 5, restart: 3 },
    faults: TROUBLE,
  },
  {
    ...BASE,
    name: 'opening',
    about:
      'registrations before and after their sessions open, at sites that throttle and lose answers',
    policy: (dice) => ({
      queue: {
        ...shortTimes(dice),
        batch_size: dice.pick([1, 256]),
        quotas: { leases_max_per_provider: dice.pick([4, 12]) },
      },
      registry: changingHealth(dice),
      sessions: SESSIONS,
      audit: { pii_retention_secs: dice.pick([5, 40, 90]) },
    }),
    kinds: { ai: 1, quantum: 0, task: 1, registration: 12 },
    actors: { ...BASE.actors, caller: 24, worker: 80, operator: 6, store: 5, restart: 2 },
    clock: { tick: 60, walk: 6, edge: 24, leap: 1, back: 2 },
    operator: { ...BASE.operator, cancel: 12, opening: 4, pause: 0, bulk: 0 },
    faults: TROUBLE,
    liveMax: 60,
  },
  {
    ...BASE,
    name: 'fair',
    options: 'priority',
    about: 'tenants that always have work waiting: the bound between them',
    policy: () => ({
      queue: {
        ack_timeout_ms: 600_000,
        worker_lost_ms: 3_600_000,
        lease: {
          ai_secs: 86_400,
          quantum_secs: 86_400,
          task_secs: 86_400,
          registration_secs: 86_400,
        },
        quotas: { leases_max_per_provider: 3 },
        ttl: { abs_default_ai_secs: 8_640_000, rel_max_secs: 8_640_000 },
      },
      registry: { heartbeat_timeout_ms: 86_400_000 },
    }),
    kinds: { ai: 1, quantum: 0, task: 0, registration: 0 },
    providers: () =>
      ['a', 'b'].map((name) => ({
        name,
        workers: [{ slots: 3, profile: 'steady' as const }],
        stake: 0n,
        offer: { capabilities: KINDS, models: new Set(['*']) },
      })),
    actors: { ...BASE.actors, caller: 40, operator: 0 },
    clock: { tick: 90, walk: 10, edge: 0, leap: 0, back: 2 },
    faults: { ...BASE.faults, fails: 40, lost: 0, late: 20, outage: 200 },
    liveMax: 60,
    oddOneIn: 0,
    cancelOneIn: 0,
    scheduleOneIn: 0,
    isUniform: true,
    withBound: true,
  },
  {
    ...BASE,
    name: 'words',
    about: 'jobs with dedupe keys, and workers that say how far they have come',
    kinds: { ai: 2, quantum: 1, task: 5, registration: 2 },
    dedupeOneIn: 2,
    reportOneIn: 3,
    scheduleOneIn: 0,
  },
  {
    ...BASE,
    name: 'failing',
    about: 'tasks that fail, hang, are declined or kill their workers, beside others that succeed',
    policy: (dice) => ({
      queue: {
        ack_timeout_ms: 4_000,
        worker_lost_ms: dice.pick([1_000, 3_000]),
        lease: { task_secs: 5 },
        retries: {
          attempt_max: dice.pick([3, 20]),
          base_backoff_task_secs: 1,
          backoff_cap_secs: 2,
          worker_lost_max: dice.pick([3, 3, 25]),
        },
        quotas: { leases_max_per_provider: dice.pick([2, 16]) },
      },
      registry: STRICT,
    }),
    callers: [...CALLERS.slice(0, 2), { name: 'eve', tier: 'FREE' }],
    kinds: { ai: 0, quantum: 0, task: 1, registration: 0 },
    tasks: ['fine', 'fine', 'fine', 'fine', 'fine', 'poison', 'boom', 'boom', 'picky', 'hang'],
    mustSucceed: ({ model }) => !BAD_TASKS.includes(model ?? ''),
    options: 'priority',
    providers: (dice) =>
      ['a', 'b', 'c'].map((name) => ({
        name,
        // A worker that crashes takes nothing with it but the task that it crashed of.
        workers: Array.from({ length: dice.between(1, 3) }, () => ({
          slots: 1,
          profile: 'plain' as const,
        })),
        stake: 0n,
        offer: { capabilities: KINDS, models: new Set(['*']) },
      })),
    actors: { ...BASE.actors, caller: 14, worker: 70, operator: 1 },
    clock: { tick: 92, walk: 8, edge: 0, leap: 0, back: 2 },
    operator: {
      ...{ policy: 1, status: 0, revive: 1, stake: 1, offer: 0, cancel: 0, opening: 0 },
      ...{ unstake: 0, payout: 0, close: 0, key: 0, pause: 0, bulk: 0 },
    },
    faults: { ...BASE.faults, outage: 0 },
    liveMax: 80,
    cancelOneIn: 0,
    scheduleOneIn: 0,
    isUniform: true,
  },
]
