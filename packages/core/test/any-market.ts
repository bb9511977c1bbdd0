import fc from 'fast-check'
import { addUnits, RequesterWindows } from '../src/admit/quotas.ts'
import type { Caller, JobId, ProviderId, Seed } from '../src/encoding/ids.ts'
import { newJob } from '../src/enqueue/enqueue-job.ts'
import {
  aiDemand,
  type Demand,
  type KindName,
  quantumDemand,
  taskDemand,
} from '../src/enqueue/kinds.ts'
import type { Job } from '../src/market/job.ts'
import { ProviderPool } from '../src/match/provider-pool.ts'
import { WaitingQueue } from '../src/order/waiting-queue.ts'
import { type Policy, parsePolicy } from '../src/policy/policy.ts'
import { classKey, newProvider, type Provider } from '../src/registry/provider.ts'
import { type PlainJob, type PlainNeeds, plainUnits } from './plain-order.ts'
import type { PlainMarket, PlainProvider } from './plain-round.ts'

/**
 * Small markets in which much is contested: few callers, models, fees and times, few slots, and
 * providers that fail each check now and then. And the same market as the real objects.
 */

export const START = 1_760_000_000_500

export function callerNamed(n: number): Caller {
  return `0x${n.toString(16).padStart(64, 'c')}` as Caller
}

export function jobNamed(n: number): JobId {
  return `0x${n.toString(16).padStart(64, '0')}` as JobId
}

export function seedNamed(n: number): Seed {
  return `0x${n.toString(16).padStart(64, '5')}` as Seed
}

export const CALLERS = [callerNamed(1), callerNamed(2), callerNamed(3)]
const MODELS = ['m1', 'm2', 'unheard-of']
const REGIONS = ['eu', 'us']

/** Mostly the first value, at times one of the others. */
function mostly<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, fc.constantFrom(...others))
}

/** A list that is mostly at least half as long as it may be. */
function many<T>(item: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> {
  const minLength = Math.ceil(maxLength / 2)
  return fc.oneof({ withCrossShrink: true }, fc.array(item, { maxLength, size: 'max' }), {
    weight: 5,
    arbitrary: fc.array(item, { minLength, maxLength, size: 'max' }),
  })
}

export function anySeed(): fc.Arbitrary<Seed> {
  return fc.nat({ max: 0xffff }).map(seedNamed)
}

export function anyPolicy(): fc.Arbitrary<Policy> {
  const quotas = fc.record({
    leases_max_per_provider: mostly(2, 1, 3, 16, 0),
    ai_units_per_epoch: fc.constantFrom(null, null, null, 1, 3, 4, 5, 0),
    quantum_units_per_epoch: fc.constantFrom(null, null, 1, 2, 4),
    task_units_per_epoch: fc.constantFrom(null, null, 1, 2),
    epoch_secs: fc.constantFrom(3_600, 2),
    requester_window: fc.oneof(
      { weight: 2, arbitrary: fc.constant(null) },
      fc.record({ jobs: fc.constantFrom(1, 2, 3, 4, 0), secs: fc.constantFrom(1, 3) }),
    ),
  })
  const stakes = mostly(0, 100)
  const needed = mostly(false, true)
  const calm = fc.constant({
    min_stake: { ai: 0, quantum: 0, task: 0 },
    heartbeat_timeout_ms: 2_000,
    min_health: 0,
  })
  const strict = fc.record({
    min_stake: fc.record({ ai: stakes, quantum: stakes, task: stakes }),
    attestation_required: fc.record({ ai: needed, quantum: needed, task: needed }),
    heartbeat_timeout_ms: fc.constant(2_000),
    min_health: fc.constantFrom(600, 0),
    health: fc.constantFrom('on', 'on', 'off'),
    liveness: fc.constantFrom('heartbeat', 'heartbeat', 'worker'),
    denied_regions: mostly<string[]>([], ['eu']),
    requesters_allow: mostly<string[] | null>(null, [callerNamed(1), callerNamed(2)]),
    requesters_deny: mostly<string[]>([], [callerNamed(2)]),
  })
  const match = fc.record({
    order: fc.constantFrom('first-fit', 'rotate', 'score'),
    fairness: fc.constantFrom('score', 'score', 'tenant'),
    ties: fc.constantFrom('pair_hash', 'arrival'),
    tenant_weights: mostly<Record<string, number>>({}, { [callerNamed(2)]: 3 }),
    tier_weights: mostly({ FREE: 1, PRO: 2, PREMIUM: 4 }, { FREE: 3, PRO: 7, PREMIUM: 1 }),
  })
  const queue = fc.record({
    batch_size: fc.constantFrom(8, 7, 6, 5, 4, 3, 2, 1),
    starvation_k: fc.constantFrom(20, 1, 2, 3, 4, 5),
    quotas,
  })
  const priority = fc.record({ age_horizon_secs: fc.constantFrom(3_600, 3, 1) })
  return fc
    .record({ queue, registry: fc.oneof(calm, strict), match, priority })
    .map((written) => parsePolicy(written, 'fund'))
}

const anyNeeds: fc.Arbitrary<PlainNeeds> = fc.record({
  precision: fc.constantFrom(null, ['fp16'], ['fp8'], ['fp16', 'fp8']),
  widthHint: fc.constantFrom(0, 4, 5),
  gates: fc.constantFrom(null, ['h'], ['cx'], ['cx', 'h']),
})

/** Only an ai job asks for a precision, only a quantum job for a width and gates, a task for nothing. */
function needsOf(kind: KindName, needs: PlainNeeds | null): PlainNeeds | null {
  if (needs === null || kind === 'task') return null
  return kind === 'ai' ? { ...needs, widthHint: 0, gates: null } : { ...needs, precision: null }
}

export function anyJob(now: number): fc.Arbitrary<Omit<PlainJob, 'id'>> {
  const kind = fc.constantFrom<KindName>('ai', 'ai', 'ai', 'quantum', 'task')
  const until = fc.constantFrom(now - 1, now, now + 1, now + 1_500)
  const fields = {
    kind,
    caller: fc.constantFrom(...CALLERS),
    tier: mostly('FREE', 'PRO', 'PREMIUM'),
    fee: fc.constantFrom(1_000_000n, 1_000_000n, 1_000_000n, 0n, 5_000_000n),
    sizeBytes: mostly(1_000, 1_001, 50_000),
    enqueueTs: fc.constantFrom(
      now - 1_000,
      now - 1_000,
      now - 1_000,
      now,
      now - 1,
      now - 1_501,
      now - 4_000,
      now - 4_000_000,
    ),
    enqueueSeq: mostly(0, 1),
    notBefore: fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, until),
    model: fc.constantFrom('m1', 'm1', 'm1', ...MODELS),
    maxTokens: fc.constantFrom(100, 100, 1, 101, 300),
    shots: fc.constantFrom(1_000, 10_000, 10_001),
    depthHint: fc.constantFrom(0, 1, 2),
    regions: mostly<string[] | null>(null, ['eu'], ['us'], ['us', 'eu'], []),
    needs: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, anyNeeds),
    priority: fc.constantFrom(undefined, undefined, undefined, 1, -100, 100),
    runAt: fc.constantFrom(undefined, undefined, undefined, now - 1_500, now, now + 1, now + 1_500),
    denials: fc.oneof(
      { weight: 4, arbitrary: fc.constant({}) },
      fc.dictionary(fc.constantFrom('provider:a', 'provider:b', 'provider:c'), until, {
        maxKeys: 2,
      }),
    ),
  }
  return fc
    .record(fields)
    .map((job) => (job.kind === 'quantum' ? { ...job, model: null } : job))
    .map((job) => (job.kind === 'quantum' ? job : { ...job, shots: 0, depthHint: 0 }))
    .map(({ priority, runAt, ...job }) => ({
      ...job,
      ...(priority === undefined ? {} : { priority }),
      ...(runAt === undefined ? {} : { runAt }),
      needs: needsOf(job.kind, job.needs),
    }))
}

export function anyProvider(now: number): fc.Arbitrary<Omit<PlainProvider, 'id'>> {
  const kinds: KindName[] = ['ai', 'quantum', 'task']
  const until = fc.constantFrom(now - 1, now, now + 1, now + 1_500)
  const callers = fc.subarray(CALLERS)
  const cooldown = fc
    .record({ kind: fc.constantFrom(...kinds), model: fc.constantFrom('m1', 'm2'), until })
    .map((c) => (c.kind === 'quantum' ? { ...c, model: null } : c))
  const epochs = [3_600, 2].map((secs) => Math.floor(now / (1_000 * secs)))
  const unitKeys = kinds.flatMap((kind) =>
    epochs.flatMap((epoch) => [`${kind}@${epoch}`, `${kind}@${epoch - 1}`]),
  )
  return fc.record({
    capabilities: mostly<KindName[]>(kinds, ['ai'], ['quantum', 'ai'], ['task'], []),
    models: fc.constantFrom(['*'], ['*'], ['*'], ['*'], ['*'], ['m1'], ['m2'], ['m1', 'm2'], []),
    maxDepth: mostly<number | null>(null, 0, 1, 2),
    maxShots: mostly<number | null>(null, 9_999, 10_000),
    maxWidth: mostly<number | null>(null, 0, 4, 5),
    gates: mostly<string[] | null>(null, [], ['h'], ['cx', 'h']),
    precision: mostly<string[] | null>(null, [], ['fp8'], ['fp16', 'fp8']),
    region: fc.constantFrom(null, null, ...REGIONS),
    allow: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, callers),
    deny: fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, callers),
    leasesMax: fc.constantFrom(null, null, null, 1, 2, 40, 0),
    status: mostly<PlainProvider['status']>('ACTIVE', 'REGISTERED', 'JAILED', 'SUSPENDED'),
    stake: fc.constantFrom(300n, 300n, 300n, 600n, 99n),
    attestation: mostly<PlainProvider['attestation']>(
      { notBefore: now - 1, notAfter: now + 9_000 },
      null,
      { notBefore: now, notAfter: now + 1 },
      { notBefore: now + 1, notAfter: now + 2_000 },
      { notBefore: now - 5, notAfter: now },
    ),
    lastHeartbeat: mostly(now, now - 1_999, now - 2_000, now - 2_001),
    health: mostly(1_000, 600, 500, 599),
    cooldownUntil: fc.oneof({ weight: 11, arbitrary: fc.constant(null) }, until),
    classCooldowns: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      // Of two entries for one class the later would win, so there is one.
      fc.uniqueArray(cooldown, { maxLength: 2, selector: (c) => classKey(c.kind, c.model) }),
    ),
    leases: fc.constantFrom(0, 0, 0, 1, 2),
    units: fc.oneof(
      { weight: 2, arbitrary: fc.constant({}) },
      fc.dictionary(fc.constantFrom(...unitKeys), fc.integer({ min: 1, max: 3 }), { maxKeys: 3 }),
    ),
  })
}

/** Jobs under distinct ids, in no order. */
export function anyJobs(now: number, maxLength: number): fc.Arbitrary<PlainJob[]> {
  return many(fc.tuple(fc.nat({ max: 255 }), anyJob(now)), maxLength).map((pairs) =>
    pairs.map(([n, job], i) => ({ ...job, id: jobNamed(n * 64 + i) })),
  )
}

export function anyProviders(now: number, maxLength: number): fc.Arbitrary<PlainProvider[]> {
  return many(anyProvider(now), maxLength)
    .map((list) => list.map((p, i) => ({ ...p, id: providerNamed(i) })))
    .chain((list) => fc.shuffledSubarray(list, { minLength: list.length }))
}

export function providerNamed(n: number): ProviderId {
  return `provider:${String.fromCharCode(97 + n)}` as ProviderId
}

/** Any market, at `START`. */
export function anyMarket(sizes = { jobs: 12, providers: 5 }): fc.Arbitrary<PlainMarket> {
  const times = fc.array(
    fc.constantFrom(START, START - 999, START - 1_000, START - 2_999, START - 3_000),
    { maxLength: 2 },
  )
  const [one, two, three] = CALLERS as [Caller, Caller, Caller]
  return fc.record({
    now: fc.constant(START),
    seed: anySeed(),
    policy: anyPolicy(),
    jobs: anyJobs(START, sizes.jobs),
    providers: anyProviders(START, sizes.providers),
    grants: fc.record({
      ai: fc.nat({ max: 25 }),
      quantum: fc.nat({ max: 25 }),
      task: fc.nat({ max: 25 }),
    }),
    shares: fc.constant({}),
    recent: fc
      .record({ [one]: times, [two]: times, [three]: times })
      .map((recent) =>
        Object.fromEntries(Object.entries(recent).map(([caller, at]) => [caller, at.toSorted()])),
      ),
  })
}

/**
 * Markets in which ties are contested and the round goes on behind them: providers for some models
 * only, with few slots and units, and jobs of three ranks, equal within a rank.
 */
export function anyContest(): fc.Arbitrary<PlainMarket> {
  const models = fc.subarray(['m1', 'm2', 'm3'], { minLength: 1 })
  const provider = fc.record({
    models,
    leasesMax: fc.constantFrom(1, 2, 3),
    health: mostly(1_000, 600),
    deny: mostly<Caller[]>([], [callerNamed(1)]),
  })
  const job = fc.record({
    fee: fc.constantFrom(9_000_000n, 9_000_000n, 1_000_000n, 0n),
    model: fc.constantFrom('m1', 'm1', 'm2', 'm3'),
    maxTokens: fc.constantFrom(100, 200),
    caller: fc.constantFrom(...CALLERS),
    enqueueSeq: mostly(0, 1),
  })
  const written = fc.record({
    match: fc.record({
      order: fc.constantFrom('rotate', 'first-fit', 'score'),
      ties: fc.constantFrom('pair_hash', 'pair_hash', 'arrival'),
    }),
    queue: fc.record({
      quotas: fc.record({
        ai_units_per_epoch: fc.constantFrom(null, 2, 3, 4),
        requester_window: fc.constantFrom(null, null, { jobs: 2, secs: 1 }),
      }),
    }),
    registry: fc.constant({ min_stake: { ai: 0, quantum: 0, task: 0 } }),
  })
  return fc.record({
    now: fc.constant(START),
    seed: anySeed(),
    policy: written.map((given) => parsePolicy(given, 'fund')),
    jobs: many(fc.tuple(fc.nat({ max: 255 }), job), 9).map((pairs) =>
      pairs.map(([n, one], i) => ({ ...PLAIN_JOB, ...one, id: jobNamed(n * 64 + i) })),
    ),
    providers: many(provider, 5).map((list) =>
      list.map((one, i) => ({ ...IDLE_PROVIDER, ...one, id: providerNamed(i) })),
    ),
    grants: fc.constant({}),
    shares: fc.constant({}),
    recent: fc.constant({}),
  })
}

/** A job and a provider with nothing special about them. */
export const PLAIN_JOB: PlainJob = {
  id: jobNamed(0),
  kind: 'ai',
  caller: callerNamed(1),
  tier: 'FREE',
  fee: 0n,
  sizeBytes: 1_000,
  enqueueTs: START - 1_000,
  enqueueSeq: 0,
  notBefore: null,
  model: 'm1',
  maxTokens: 100,
  shots: 0,
  depthHint: 0,
  regions: null,
  needs: null,
  denials: {},
}

export const IDLE_PROVIDER: PlainProvider = {
  id: providerNamed(0),
  capabilities: ['ai', 'quantum', 'task'],
  models: ['*'],
  maxDepth: null,
  maxShots: null,
  maxWidth: null,
  gates: null,
  precision: null,
  region: null,
  allow: null,
  deny: [],
  leasesMax: null,
  status: 'ACTIVE',
  stake: 1_000n,
  attestation: null,
  lastHeartbeat: START,
  health: 1_000,
  cooldownUntil: null,
  classCooldowns: [],
  leases: 0,
  units: {},
}

/** The real objects of a market. */
export interface RealMarket {
  readonly queues: Map<KindName, WaitingQueue>
  readonly pool: ProviderPool
  readonly windows: RequesterWindows
  readonly jobs: Map<JobId, Job>
}

export function realMarket(market: PlainMarket): RealMarket {
  const { policy, now, grants } = market
  const queues = new Map<KindName, WaitingQueue>()
  for (const kind of ['ai', 'quantum', 'task'] as const) {
    const fair = market.shares[kind]?.state() ?? { virtual: 0n, finish: new Map() }
    queues.set(kind, new WaitingQueue(policy, now, { grants: grants[kind] ?? 0, fair }))
  }
  const jobs = new Map<JobId, Job>()
  for (const plain of market.jobs) {
    const job = realJob(plain)
    jobs.set(job.id, job)
    queues.get(plain.kind)?.push(job)
  }
  const pool = new ProviderPool(policy)
  for (const plain of market.providers) pool.add(realProvider(plain))
  const windows = new RequesterWindows()
  for (const [caller, times] of Object.entries(market.recent)) {
    for (const at of times) windows.record(caller as Caller, at, policy)
  }
  return { queues, pool, windows, jobs }
}

export function realJob(plain: PlainJob): Job {
  const { priority, runAt } = plain
  const options = {
    ...(priority === undefined ? {} : { priority }),
    ...(runAt === undefined ? {} : { runAt }),
  }
  const isPlain = priority === undefined && runAt === undefined
  const asked = isPlain ? null : options
  const request = { ...plain, demand: demandOf(plain), ttlAbsSecs: null, options: asked }
  const job = newJob(request, plain.enqueueTs)
  job.notBefore = plain.notBefore
  const denials = Object.entries(plain.denials) as [ProviderId, number][]
  if (denials.length > 0) job.denials = new Map(denials)
  return job
}

function demandOf(job: PlainJob): Demand {
  if (job.kind === 'ai') return aiDemand(job.model ?? '', job.maxTokens)
  if (job.kind === 'quantum') return quantumDemand(job.shots, job.depthHint)
  if (job.kind === 'task') return taskDemand(job.model ?? '')
  return { model: null, shots: 0, depthHint: 0, units: plainUnits(job), tokens: 0 }
}

export function realProvider(plain: PlainProvider): Provider {
  const provider = newProvider({
    id: plain.id,
    offer: {
      capabilities: new Set(plain.capabilities),
      models: new Set(plain.models),
      maxDepth: plain.maxDepth,
      maxShots: plain.maxShots,
      maxWidth: plain.maxWidth,
      gates: plain.gates && new Set(plain.gates),
      precision: plain.precision && new Set(plain.precision),
      region: plain.region,
      allow: plain.allow && new Set(plain.allow),
      deny: new Set(plain.deny),
      leasesMax: plain.leasesMax,
    },
    status: plain.status,
    stake: plain.stake,
    attestation: plain.attestation,
    lastHeartbeat: plain.lastHeartbeat,
    health: plain.health,
  })
  provider.cooldownUntil = plain.cooldownUntil
  provider.liveLeases = plain.leases
  for (const cooldown of plain.classCooldowns) {
    provider.classCooldowns.set(classKey(cooldown.kind, cooldown.model), cooldown)
  }
  for (const [key, used] of Object.entries(plain.units)) {
    const [kind, epoch] = key.split('@') as [KindName, string]
    addUnits(provider, kind, Number(epoch), used)
  }
  return provider
}
