import { FairleadError, invalidParams } from '../errors.ts'
import { admitRules } from './admit-policy.ts'
import { attestationClasses, fingerprints } from './attestation-policy.ts'
import { ECONOMICS_FIELDS, economicsProblems } from './economics-policy.ts'
import { JOB_DEFAULTS, taskDefaults } from './job-defaults.ts'
import { platforms } from './platform-field.ts'
import {
  allowList,
  flag,
  int,
  intsByName,
  limit,
  names,
  oneOf,
  text,
  thousandths,
  u64,
  window,
} from './policy-field.ts'
import {
  problemList,
  readSettings,
  type SettingPath,
  type SettingsOf,
  settingPaths,
  showSettings,
  snakeCase,
} from './settings-table.ts'
import { SLA_FIELDS, slaProblems } from './sla-policy.ts'

const DAY_SECS = 86_400
const anyCount = { min: 0, max: Number.MAX_SAFE_INTEGER }
const secs = { min: 1, max: 365 * DAY_SECS }
const bytes = { min: 0, max: 64 * 1024 * 1024 }
const portion = { min: 0, max: 1_000 }
const nameBytes = { min: 1, max: 1_024 }
const verifications = ['none', 'proof'] as const
const weight = { min: 1, max: 1_000_000 }

/** The ways to choose a provider for a job (MATCH-7, MATCH-9, MATCH-10). */
export const MATCH_ORDERS = ['first-fit', 'rotate', 'score'] as const

/**
 * Every setting: default, bounds, purpose (POLICY-1). The checks, the reference page and the type
 * `Policy` come from this table. Defaults are those of the preset `fund`; see `PRESETS`.
 */
// biome-ignore format: one setting a line, so that the table can be read as one
export const POLICY_FIELDS = {
  chain: {
    id: u64(1n, 0n, 'chain that job ids are bound to'),
    source: oneOf('none', ['none', 'blocks'], 'where proofs come from: aicf.submitProof, or the blocks of a chain'),
    minerId: text('operator', 128, 'who has the miner\'s share of a proof that no block brought'),
    finalityK: int(12, { min: 0, max: 1_000_000 }, 'blocks after which a claim is final, where there is a chain'),
  },
  journal: {
    keepSecs: int(7 * DAY_SECS, { min: 0, max: 3_650 * DAY_SECS }, 'age up to which no entry of the journal can be deleted'),
    keepEntries: int(1_000_000, { min: 1, max: 1_000_000_000 }, 'newest entries of the journal that cannot be deleted, whatever their age'),
  },
  queue: {
    maxDepth: int(1_000_000, { min: 0, max: 100_000_000 }, 'waiting jobs before enqueue is refused'),
    maxPerCaller: limit(null, anyCount, 'waiting jobs of one caller before its enqueue is refused'),
    batchSize: int(256, { min: 1, max: 100_000 }, 'jobs that one round looks at, per kind'),
    dispatchIntervalMs: int(250, { min: 1, max: 60_000 }, 'longest time between two rounds while work waits'),
    ackTimeoutMs: int(5_000, { min: 100, max: 600_000 }, 'how long an offer waits for its provider'),
    workerLostMs: int(15_000, { min: 100, max: 3_600_000 }, 'how long a worker may be gone before its leases are given back'),
    workerLostRegistrationMs: int(2_000, { min: 2_000, max: 3_600_000 }, 'the same for leases on registrations; a worker sends up to 1,500 ms after its ack, and must not be taken for lost by then'),
    starvationK: int(20, { min: 1, max: 1_000_000 }, 'every k-th grant goes to the job that waited longest'),
    lease: {
      aiSecs: int(600, secs, 'length of a lease on an ai job'),
      quantumSecs: int(180, secs, 'length of a lease on a quantum job'),
      taskSecs: int(600, secs, 'length of a lease on a task'),
      registrationSecs: int(60, { ...secs, min: 2 }, 'length of a lease on a registration'),
      renewAlpha: thousandths(600, portion, 'share of a lease after which its holder should renew'),
      renewBeta: thousandths(500, portion, 'share of a lease that a renewal adds'),
      renewalsMax: limit(4, { min: 0, max: 1_000 }, 'renewals of one lease'),
    },
    retries: {
      attemptMax: int(6, { min: 1, max: 1_000 }, 'charged failures that end a job'),
      baseBackoffAiSecs: int(5, secs, 'first delay of an ai job'),
      baseBackoffQuantumSecs: int(2, secs, 'first delay of a quantum job'),
      baseBackoffTaskSecs: int(5, secs, 'first delay of a task'),
      backoffFactor: thousandths(2_000, { min: 1_000, max: 10_000 }, 'each delay is so many times the one before'),
      backoffCapSecs: int(900, secs, 'longest delay, before jitter'),
      workerLostMax: limit(3, { min: 1, max: 1_000 }, 'lost workers in a row that end the job that they had acked'),
    },
    quotas: {
      leasesMaxPerProvider: int(16, { min: 0, max: 1_000_000 }, 'live leases of one provider'),
      aiUnitsPerEpoch: limit(100_000, anyCount, 'ai units of one provider in an epoch'),
      quantumUnitsPerEpoch: limit(10_000, anyCount, 'quantum units of one provider in an epoch'),
      taskUnitsPerEpoch: limit(null, anyCount, 'tasks of one provider in an epoch'),
      registrationUnitsPerEpoch: limit(null, anyCount, 'registrations of one provider in an epoch'),
      epochSecs: int(3_600, secs, 'length of an epoch, counted from the Unix epoch'),
      requesterWindow: window('assignments that one caller may get in any span of time'),
    },
    ttl: {
      absDefaultAiSecs: int(DAY_SECS, secs, 'life of an ai job that names none'),
      absDefaultQuantumSecs: int(7_200, secs, 'life of a quantum job that names none'),
      absDefaultTaskSecs: limit(DAY_SECS, secs, 'life of a task that names none'),
      absDefaultRegistrationSecs: int(DAY_SECS, secs, 'life of a registration after its scheduled time'),
      relMaxSecs: limit(21_600, secs, 'life of a job after its first assignment'),
      gcHorizonSecs: int(7 * DAY_SECS, secs, 'how long an ended job is kept'),
    },
    completion: {
      aiVerification: oneOf('proof', verifications, 'what makes an ai job complete'),
      quantumVerification: oneOf('proof', verifications, 'what makes a quantum job complete'),
      taskVerification: oneOf('none', ['none'], 'what makes a task complete; there is no proof of such work'),
      proofTimeoutSecs: int(600, secs, 'how long a completed lease waits for its proof'),
      metaMaxBytes: int(16_384, bytes, 'canonical CBOR of what a worker says about its result'),
      outputMaxBytes: int(262_144, bytes, 'output kept with a result'),
      resultRetentionSecs: limit(null, { min: 0, max: secs.max }, 'how long a result is kept, though never for less long than its job; null keeps it for good'),
    },
  },
  kinds: { ai: JOB_DEFAULTS, quantum: JOB_DEFAULTS, task: JOB_DEFAULTS },
  tasks: taskDefaults('the settings of kinds.task, by name of the task; what is null or left out is as for all tasks'),
  caps: {
    regions: int(64, { min: 1, max: 1_000 }, 'regions that a job may name'),
    needs: int(64, { min: 1, max: 1_000 }, 'precisions or gates that a job may name'),
    idempotencyKey: int(256, nameBytes, 'bytes of an idempotency key'),
    ai: {
      model: int(128, nameBytes, 'bytes of a model name'),
      prompt: int(65_536, bytes, 'bytes of a prompt'),
      maxTokens: int(1_048_576, { min: 1, max: 0xffff_ffff }, 'tokens that a job may ask for'),
    },
    quantum: {
      circuit: int(131_072, bytes, 'bytes of a circuit'),
      shots: int(1_000_000, { min: 1, max: 0xffff_ffff }, 'shots that a job may ask for'),
    },
    task: {
      name: int(128, nameBytes, 'bytes of a task name'),
      args: int(65_536, bytes, 'bytes of the arguments as canonical CBOR'),
    },
    registration: {
      provider: int(128, nameBytes, 'bytes of the name of a booking site'),
      orgRef: int(128, nameBytes, 'bytes of the name of an organisation there'),
      eventId: int(128, nameBytes, 'bytes of the name of an event'),
      userId: int(128, nameBytes, 'bytes of the id of whoever is to be registered'),
      args: int(16_384, bytes, 'bytes of the arguments as canonical CBOR'),
    },
  },
  priority: {
    weights: {
      fee: thousandths(550, portion, 'weight of the fee'),
      age: thousandths(250, portion, 'weight of the time waited'),
      size: thousandths(100, portion, 'weight of being small'),
      tier: thousandths(100, portion, "weight of the requester's tier"),
    },
    feeHalf: u64(1_000_000n, 1n, 'fee that earns half of the fee term'),
    sizeHalf: u64(16_384n, 1n, 'bytes that earn half of the size term'),
    // The bound keeps every key of the score queue below 2^53.
    ageHorizonSecs: int(3_600, { min: 1, max: 4_000_000 }, 'wait that earns the whole age term'),
    tiers: intsByName({ FREE: 0, PRO: 300_000, PREMIUM: 600_000 }, { min: 0, max: 1_000_000 }, 'tier term, in millionths'),
  },
  match: {
    order: oneOf('first-fit', MATCH_ORDERS, 'how a provider is chosen for a job'),
    fairness: oneOf('score', ['score', 'tenant'], 'whether the score or fair shares decide who is next'),
    ties: oneOf('pair_hash', ['pair_hash', 'arrival'], 'whether the seed or the order of acceptance decides between jobs of equal score and time'),
    tenantWeights: intsByName({}, weight, 'share of single callers under tenant fairness'),
    tierWeights: intsByName({ FREE: 1, PRO: 2, PREMIUM: 4 }, weight, 'share by tier under tenant fairness'),
  },
  admit: admitRules('what jobs need of the limits before they may go: rules by kind, model, provider_id and caller'),
  limits: {
    actualFactorMax: int(16, { min: 1, max: 1_000_000 }, 'what a lease used counts at most so many times what it reserved, or the capacity of the limit if that is more'),
  },
  registry: {
    minStake: {
      ai: u64(10_000n, 0n, 'stake for offering ai'),
      quantum: u64(50_000n, 0n, 'stake for offering quantum'),
      task: u64(0n, 0n, 'stake for offering tasks'),
      registration: u64(0n, 0n, 'stake for offering registrations'),
    },
    attestationRequired: {
      ai: flag(false, 'whether ai work needs a valid attestation'),
      quantum: flag(false, 'whether quantum work needs a valid attestation'),
      task: flag(false, 'whether tasks need a valid attestation'),
      registration: flag(false, 'whether registrations need a valid attestation'),
    },
    health: oneOf('on', ['on', 'off'], 'whether failures cost a provider health, work and in the end its status'),
    liveness: oneOf('heartbeat', ['heartbeat', 'worker'], 'whether heartbeats or connected workers show that a provider is alive'),
    heartbeatTimeoutMs: int(180_000, { min: 1_000, max: 365 * DAY_SECS * 1_000 }, 'silence after which a provider gets no work'),
    heartbeatIntervalMs: int(60_000, { min: 1_000, max: DAY_SECS * 1_000 }, 'how often a heartbeat earns health, and silence costs it'),
    minHealth: int(600, portion, 'health in thousandths below which a provider gets no work'),
    cooldownAfter: int(3, { min: 1, max: 1_000 }, 'failures in a row after which a provider cools down'),
    unstakeDelaySecs: int(DAY_SECS, { ...secs, min: 0 }, 'how long stake that is taken out can still be slashed'),
    attestationClasses: attestationClasses('classes of hardware: the kinds that each vouches for, and the roots that it may end in'),
    attestationRevoked: fingerprints('certificates that no attestation may contain'),
    deniedRegions: names([], 'regions whose providers get no work'),
    requestersAllow: allowList('the only callers that get work done'),
    requestersDeny: names([], 'callers that get no work done'),
  },
  proof: {
    unitsMaxPpm: int(1_100_000, { min: 0, max: 1_000_000_000 }, 'units that a proof may claim for each estimated unit'),
    trapsMinPpm: int(980_000, { min: 0, max: 1_000_000 }, 'part of the trap shots that has to pass'),
  },
  economics: ECONOMICS_FIELDS,
  sla: SLA_FIELDS,
  sessions: {
    platforms: platforms('budget, pace, retries and meaning of answers, by platform; `default` for all others'),
  },
  signup: {
    sessions: oneOf('any', ['any', 'defined_only'], 'whether the first registration for a session may open it, or an operator alone'),
    sharedUsers: flag(false, 'whether a user_id means the same person for all callers, who then has one place in a session whoever asks'),
  },
  audit: {
    redactKeys: names(
      ['name', '*first_name', '*last_name', '*full_name', '*given_name', '*family_name', '*user_name', '*display_name', '*contact_name', '*middle_name', '*maiden_name', '*legal_name', '*participant_name', '*customer_name', '*nickname*', '*surname*', '*email*', '*e_mail*', '*phone*', '*mobile*', '*birth*', '*born*', 'dob', '*address*', 'addr', '*_addr', '*street*', 'city', '*postal_code', '*postcode', 'zip', 'zip_code', '*child*', 'kid', 'kids', 'kid_*', '*parent*', '*mother*', '*father*', '*guardian*', '*password*', '*passwd*', '*passphrase*', '*secret*', 'token', '*_token', '*api_key*', '*private_key*', '*authorization*', '*cookie*', '*credential*', '*card_number*', '*iban*'],
      'keys whose values never reach a log, an event or an error message; in any spelling, * is any text',
    ),
    piiRetentionSecs: int(30 * DAY_SECS, secs, 'how long what a registration says of people is kept after it ended'),
    identifierKeys: names(['*user_id', '*user_ids', 'user', 'uid'], 'keys whose values are shown as a keyed hash instead; in any spelling, * is any text'),
  },
} as const

/** All settings, checked, in the shape that code uses. */
export type Policy = SettingsOf<typeof POLICY_FIELDS>

/** The differences of each preset from the table, in written form (POLICY-4). */
export const PRESETS = {
  fund: {},
  queue: {
    queue: {
      quotas: {
        leases_max_per_provider: 1_024,
        ai_units_per_epoch: null,
        quantum_units_per_epoch: null,
      },
      lease: { renewals_max: null },
      ttl: { abs_default_task_secs: null, rel_max_secs: null },
      completion: {
        ai_verification: 'none',
        quantum_verification: 'none',
        result_retention_secs: 0,
      },
    },
    match: { fairness: 'tenant', ties: 'arrival' },
    registry: { min_stake: { ai: 0, quantum: 0 }, health: 'off', liveness: 'worker' },
  },
} as const
export type Preset = keyof typeof PRESETS

/** Parses and checks a policy in written form (snake_case, only the differences from the preset). */
export function parsePolicy(written: unknown, preset: Preset = 'queue'): Policy {
  const presets = Object.keys(PRESETS)
  if (!presets.includes(preset)) throw invalidParams('preset', `one of ${presets.join(', ')}`)
  const problems: string[] = []
  const base = readSettings(POLICY_FIELDS, PRESETS[preset], { name: 'the policy', problems })
  const policy = readSettings(POLICY_FIELDS, written, { name: 'the policy', base, problems })
  const isSound = (prefix: string): boolean => !problems.some((text) => text.startsWith(prefix))
  problems.push(...crossProblems(policy, isSound))
  if (problems.length === 0) return policy
  throw new FairleadError('InvalidParams', `the policy has ${problemList(problems)}`, {
    field: 'policy',
    problems,
  })
}

/** A whole policy in written form. `parsePolicy` gives the same policy again, whatever the preset. */
export function showPolicy(policy: Policy): Record<string, unknown> {
  return showSettings(POLICY_FIELDS, policy)
}

/** Every setting by its written path, for reference pages and `--help`. */
export function policySettings(): SettingPath[] {
  return settingPaths(POLICY_FIELDS)
}

/** Checks rules across several settings, each of which is sound by itself. */
function crossProblems(policy: Policy, isSound: (prefix: string) => boolean): string[] {
  const problems: string[] = []
  const { fee, age, size, tier } = policy.priority.weights
  const sum = fee + age + size + tier
  if (sum !== 1_000 && isSound('priority.weights')) {
    problems.push(`priority.weights: expected weights that add up to 1, got ${sum / 1_000}`)
  }
  if (isSound('economics.split_bps')) problems.push(...economicsProblems(policy.economics))
  if (isSound('sla.slash')) problems.push(...slaProblems(policy.sla))
  problems.push(...priorityProblems(policy))
  for (const [key, value] of Object.entries(policy.queue.lease)) {
    if (value === null || !key.endsWith('Secs')) continue
    if (policy.queue.ackTimeoutMs < value * 1_000) continue
    if (!isSound('queue.ack_timeout_ms') || !isSound(`queue.lease.${snakeCase(key)}`)) continue
    problems.push(
      `queue.ack_timeout_ms: expected less than queue.lease.${snakeCase(key)} (${value} s), or an offer outlives its own lease`,
    )
  }
  return problems
}

/** Under fairness `score` the fee decides who goes first, so no number may (OPTIONS-6). */
function priorityProblems({ match, kinds, tasks }: Policy): string[] {
  if (match.fairness === 'tenant') return []
  const named = [
    ...Object.entries(kinds).map(([kind, defaults]) => [`kinds.${kind}`, defaults] as const),
    ...Object.entries(tasks).map(([name, defaults]) => [`tasks.${name}`, defaults] as const),
  ]
  return named
    .filter(([, { priority }]) => priority !== null && priority !== 0)
    .map(
      ([path]) =>
        `${path}.priority: expected 0 or null; under match.fairness score the fee decides`,
    )
}
