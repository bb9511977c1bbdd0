import { createHash } from 'node:crypto'
import type { Caller, JobId, ProviderId, Seed } from '../src/encoding/ids.ts'
import type { KindName } from '../src/enqueue/kinds.ts'
import type { Refusal } from '../src/match/eligibility.ts'
import type { Policy } from '../src/policy/policy.ts'
import type { ProviderStatus } from '../src/registry/standing/status.ts'
import {
  isReady,
  type PlainJob,
  PlainShares,
  plainScore,
  plainScoreBatch,
  plainShareBatch,
  plainUnits,
  readyTs,
  sign,
} from './plain-order.ts'

/**
 * Eligibility and one round of matching as nested loops, straight from the rules. Slow, and made for
 * reading: the tests compare `matchRound` with it. It shares no code with it.
 */

export interface PlainProvider {
  readonly id: ProviderId
  readonly capabilities: readonly KindName[]
  readonly models: readonly string[]
  readonly maxDepth: number | null
  readonly maxShots: number | null
  readonly maxWidth: number | null
  readonly gates: readonly string[] | null
  readonly precision: readonly string[] | null
  readonly region: string | null
  readonly allow: readonly Caller[] | null
  readonly deny: readonly Caller[]
  readonly leasesMax: number | null
  readonly status: ProviderStatus
  readonly stake: bigint
  readonly attestation: { readonly notBefore: number; readonly notAfter: number } | null
  readonly lastHeartbeat: number
  readonly health: number
  readonly cooldownUntil: number | null
  readonly classCooldowns: readonly {
    readonly kind: KindName
    readonly model: string | null
    readonly until: number
  }[]
  /** Leases that it holds, of all kinds. */
  readonly leases: number
  /** Units that it used, by kind and epoch: `ai@12`. */
  readonly units: Readonly<Record<string, number>>
}

export interface PlainMarket {
  readonly now: number
  readonly seed: Seed
  readonly policy: Policy
  readonly jobs: readonly PlainJob[]
  readonly providers: readonly PlainProvider[]
  readonly grants: Readonly<Partial<Record<KindName, number>>>
  readonly shares: Readonly<Partial<Record<KindName, PlainShares>>>
  /** Caller → times of its assignments so far. */
  readonly recent: Readonly<Record<string, readonly number[]>>
  /** Fixed windows by key, and how much of each is held. */
  readonly limits?: Readonly<Record<string, PlainLimit>>
}

export interface PlainLimit {
  readonly capacity: number
  readonly windowSecs: number
  readonly held: number
}

export interface PlainAssignment {
  readonly job: PlainJob
  readonly provider: PlainProvider
}

export interface PlainKindRound {
  readonly kind: KindName
  readonly batch: readonly JobId[]
  readonly picks: readonly JobId[]
  readonly order: readonly ProviderId[]
  readonly assignments: readonly PlainAssignment[]
}

const KIND_ORDER: readonly KindName[] = ['ai', 'quantum', 'task']

/** All kinds in turn. What one kind took is gone for the next. */
export function plainRound(market: PlainMarket): PlainKindRound[] {
  const taken: PlainAssignment[] = []
  const rounds: PlainKindRound[] = []
  for (const kind of KIND_ORDER) {
    if (!market.jobs.some((job) => job.kind === kind)) continue
    const round = plainKindRound(market, kind, taken)
    taken.push(...round.assignments)
    rounds.push(round)
  }
  return rounds
}

function plainKindRound(
  market: PlainMarket,
  kind: KindName,
  before: readonly PlainAssignment[],
): PlainKindRound {
  const { now, policy, seed } = market
  const passing = market.providers.filter((p) => providerFault(p, kind, market) === null)
  const sorted = passing.toSorted((a, b) => sign(a.id, b.id))
  const shuffled = plainShuffle(sorted, seed)

  // Who is asked for the batch in vain claims the limits that it waits for.
  let claims: PlainClaim[] = []
  const isAdmitted = (job: PlainJob): boolean => {
    const isFit = sorted.some(
      (p) => plainHold(p, job, market, before, claims) === null && isTaker(p, job),
    )
    if (!isFit) claimFor(job, before)
    return isFit
  }
  const isTaker = (p: PlainProvider, job: PlainJob): boolean =>
    plainRefusal(p, job, market, before) === null
  const claimFor = (job: PlainJob, made: readonly PlainAssignment[]): void => {
    for (const p of sorted) {
      if (plainRefusal(p, job, market, made) !== null) continue
      const hold = plainHold(p, job, market, made, claims)
      if (hold?.reason === 'exhausted') claims.push({ ...hold, job })
    }
  }
  const takeable = market.jobs.filter(
    (job) => job.kind === kind && isReady(job, now) && shuffled.some((p) => isTaker(p, job)),
  )
  const size = policy.queue.batchSize
  const grants = market.grants[kind] ?? 0
  const shares = market.shares[kind] ?? new PlainShares()
  const byTenant = policy.match.fairness === 'tenant'
  const batch = byTenant
    ? plainShareBatch(takeable, shares, { now, size, policy }, isAdmitted)
    : plainScoreBatch(takeable, { now, size, grants, policy }, isAdmitted)
  claims = []

  let made: PlainAssignment[] = []
  const fits = (p: PlainProvider, job: PlainJob) =>
    plainRefusal(p, job, market, [...before, ...made]) === null &&
    plainHold(p, job, market, [...before, ...made], claims) === null
  const make = (job: PlainJob, provider: PlainProvider) => made.push({ job, provider })

  /** The order in which a job asks the providers (steps 3 and 5). */
  const asked = (job: PlainJob): readonly PlainProvider[] => {
    if (policy.match.order === 'rotate') return rotated(shuffled, made.at(-1)?.provider)
    if (policy.match.order === 'first-fit') return shuffled
    return shuffled.toSorted(
      (a, b) => sign(worth(b), worth(a)) || sign(pair(job, a, seed), pair(job, b, seed)),
    )
  }
  const assign = (job: PlainJob): boolean => {
    const provider = asked(job).find((p) => fits(p, job))
    if (provider !== undefined) make(job, provider)
    return provider !== undefined
  }

  /** Step 4, over one provider, or under `score` over all of one worth. */
  const contest = (providers: readonly PlainProvider[], left: Set<PlainJob>) => {
    for (;;) {
      const pairs = [...left].flatMap((job) =>
        providers.filter((p) => fits(p, job)).map((p) => ({ job, p, hash: pair(job, p, seed) })),
      )
      const [smallest] = pairs.toSorted((a, b) => sign(a.hash, b.hash))
      if (smallest === undefined) return
      make(smallest.job, smallest.p)
      left.delete(smallest.job)
    }
  }

  for (const tie of byTenant ? batch.jobs.map((job) => [job]) : ties(batch, market)) {
    const state = [...made]
    let all = true
    for (const job of tie) all = assign(job) && all
    if (all) continue
    if (tie.length === 1) {
      for (const job of tie) claimFor(job, [...before, ...made])
      continue
    }
    made = state
    const left = new Set(tie)
    if (policy.match.order === 'score') {
      const worths = [...new Set(shuffled.map(worth))].toSorted((a, b) => sign(b, a))
      for (const one of worths)
        contest(
          shuffled.filter((p) => worth(p) === one),
          left,
        )
    } else {
      const start = policy.match.order === 'rotate' ? made.at(-1)?.provider : undefined
      for (const p of rotated(shuffled, start)) contest([p], left)
    }
    for (const job of left) claimFor(job, [...before, ...made])
  }
  return {
    kind,
    batch: batch.jobs.map((job) => job.id),
    picks: batch.picks,
    order: shuffled.map((p) => p.id),
    assignments: made,
  }
}

/**
 * Consecutive jobs with equal score and enqueue_ts, and where the order of arrival counts equal
 * enqueue_seq; a pick stands alone.
 */
function ties(
  { jobs, picks }: { jobs: readonly PlainJob[]; picks: readonly JobId[] },
  { now, policy }: PlainMarket,
): PlainJob[][] {
  const runs: PlainJob[][] = []
  let previous: PlainJob | null = null
  for (const job of jobs) {
    const isPick = picks.includes(job.id)
    const tied =
      previous !== null &&
      !isPick &&
      plainScore(job, now, policy) === plainScore(previous, now, policy) &&
      readyTs(job) === readyTs(previous) &&
      (policy.match.ties === 'pair_hash' || job.enqueueSeq === previous.enqueueSeq)
    if (tied) runs.at(-1)?.push(job)
    else runs.push([job])
    previous = isPick ? null : job
  }
  return runs
}

function rotated(
  providers: readonly PlainProvider[],
  last: PlainProvider | undefined,
): readonly PlainProvider[] {
  if (last === undefined) return providers
  const behind = providers.indexOf(last) + 1
  return [...providers.slice(behind), ...providers.slice(0, behind)]
}

function worth(provider: PlainProvider): bigint {
  return provider.stake * BigInt(provider.health)
}

/** The first check that fails, in the order of the rules; `made` is what this round assigned so far. */
export function plainRefusal(
  p: PlainProvider,
  job: PlainJob,
  market: PlainMarket,
  made: readonly PlainAssignment[] = [],
): Refusal | null {
  const { now, policy } = market
  const { registry } = policy
  const { quotas } = policy.queue
  const fault = providerFault(p, job.kind, market)
  if (fault !== null) return fault

  if (!p.capabilities.includes(job.kind)) return 'capability_missing'
  const takesModel = p.models.includes('*') || p.models.includes(job.model ?? '')
  if ((job.kind === 'ai' || job.kind === 'task') && !takesModel) return 'model_unsupported'
  const { precision = null, widthHint = 0, gates = null } = job.needs ?? {}
  if (precision !== null && p.precision !== null && !overlaps(precision, p.precision))
    return 'model_unsupported'
  if (job.kind === 'quantum') {
    if (p.maxDepth !== null && job.depthHint > p.maxDepth) return 'circuit_unsupported'
    if (p.maxShots !== null && job.shots > p.maxShots) return 'circuit_unsupported'
    if (p.maxWidth !== null && widthHint > p.maxWidth) return 'circuit_unsupported'
    const offered = p.gates
    if (offered !== null && gates?.some((gate) => !offered.includes(gate)))
      return 'circuit_unsupported'
  }
  if (job.regions !== null && !job.regions.some((r) => r === p.region)) return 'region_denied'
  if (registry.deniedRegions.some((r) => r === p.region)) return 'region_denied'
  if (p.deny.includes(job.caller)) return 'requester_denied'
  if (registry.requestersDeny.includes(job.caller)) return 'requester_denied'
  if (p.allow !== null && !p.allow.includes(job.caller)) return 'requester_denied'
  const { requestersAllow } = registry
  if (requestersAllow !== null && !requestersAllow.includes(job.caller)) return 'requester_denied'

  const own = made.filter(({ provider }) => provider === p)
  const cap = Math.min(quotas.leasesMaxPerProvider, p.leasesMax ?? quotas.leasesMaxPerProvider)
  if (p.leases + own.length >= cap) return 'lease_cap_reached'
  const epoch = Math.floor(now / (1_000 * quotas.epochSecs))
  const given = own.filter((a) => a.job.kind === job.kind).map((a) => plainUnits(a.job))
  const used = (p.units[`${job.kind}@${epoch}`] ?? 0) + given.reduce((sum, n) => sum + n, 0)
  const unitsMax = unitCap(job.kind, policy)
  if (unitsMax !== null && used + plainUnits(job) > unitsMax) return 'epoch_units_exhausted'

  const cools = p.classCooldowns.some(
    (c) => c.kind === job.kind && c.model === job.model && now < c.until,
  )
  if (cools && registry.health === 'on') return 'class_cooling_down'
  const deniedUntil = job.denials[p.id]
  if (deniedUntil !== undefined && now < deniedUntil) return 'denied_for_job'
  const window = quotas.requesterWindow
  if (window !== null) {
    const before = (market.recent[job.caller] ?? []).filter((t) => now - t < 1_000 * window.secs)
    const inRound = made.filter((a) => a.job.caller === job.caller)
    if (before.length + inRound.length >= window.jobs) return 'requester_rate_limited'
  }
  return null
}

function overlaps(wanted: readonly string[], offered: readonly string[]): boolean {
  return wanted.some((one) => offered.includes(one))
}

interface PlainClaim {
  readonly job: PlainJob
  readonly key: string
  readonly until: number
}

/** What the rules of `admit` say of a job at a provider: null, or what holds it (ADMIT-3, ADMIT-4). */
export function plainHold(
  p: PlainProvider,
  job: PlainJob,
  market: PlainMarket,
  made: readonly PlainAssignment[],
  claims: readonly PlainClaim[],
): { reason: string; key: string; until: number } | null {
  const { now } = market
  const own = plainNeeds(p, job, market.policy)
  const waits: { reason: string; key: string; until: number }[] = []
  let reason: string | null = null
  for (const [key, amount] of own) {
    const limit = market.limits?.[key]
    if (limit === undefined) return { reason: 'unknown', key, until: 0 }
    if (amount > limit.capacity) reason = 'too_large'
    const given = made.map((one) => plainNeeds(one.provider, one.job, market.policy).get(key) ?? 0)
    const promised = given.reduce((sum, n) => sum + n, 0)
    const windowMs = 1_000 * limit.windowSecs
    const until = (Math.floor(now / windowMs) + 1) * windowMs
    if (limit.held + promised + amount > limit.capacity) {
      waits.push({ reason: 'exhausted', key, until })
    }
    const isBehind = claims.some((claim) => claim.key === key && claim.job !== job)
    if (isBehind) reason ??= 'waited_for'
  }
  if (reason !== null) return { reason, key: '', until: 0 }
  return waits.toSorted((a, b) => b.until - a.until)[0] ?? null
}

/** How much of which limit a job needs at a provider (ADMIT-2). */
function plainNeeds(p: PlainProvider, job: PlainJob, { admit }: Policy): Map<string, number> {
  const needs = new Map<string, number>()
  for (const rule of admit) {
    if (rule.kind !== null && rule.kind !== job.kind) continue
    if (rule.model !== null && rule.model !== job.model) continue
    if (rule.caller !== null && rule.caller !== job.caller) continue
    if (rule.providerId !== null && rule.providerId !== p.id) continue
    if (job.model === null && rule.requirements.some(({ key }) => key.includes('{model}'))) continue
    for (const { key: template, amount } of rule.requirements) {
      const key = template
        .replaceAll('{caller}', job.caller)
        .replaceAll('{model}', job.model ?? '')
        .replaceAll('{provider}', p.id)
      const own = amount === 'tokens' ? job.maxTokens : amount
      needs.set(key, (needs.get(key) ?? 0) + own)
    }
  }
  return needs
}

function unitCap(kind: KindName, policy: Policy): number | null {
  const { quotas } = policy.queue
  if (kind === 'ai') return quotas.aiUnitsPerEpoch
  if (kind === 'quantum') return quotas.quantumUnitsPerEpoch
  return kind === 'task' ? quotas.taskUnitsPerEpoch : quotas.registrationUnitsPerEpoch
}

/** The checks that do not depend on a job, through `cooling_down`. */
export function providerFault(
  p: PlainProvider,
  kind: KindName,
  { now, policy: { registry } }: Pick<PlainMarket, 'now' | 'policy'>,
): Refusal | null {
  if (p.status !== 'ACTIVE') return 'provider_not_active'
  if (registry.attestationRequired[kind]) {
    if (p.attestation === null) return 'attestation_invalid'
    if (now < p.attestation.notBefore || now >= p.attestation.notAfter) return 'attestation_invalid'
  }
  const needed = p.capabilities.reduce((sum, offered) => sum + registry.minStake[offered], 0n)
  if (p.stake < needed) return 'stake_below_minimum'
  const isSilent = now - p.lastHeartbeat > registry.heartbeatTimeoutMs
  if (isSilent && registry.liveness === 'heartbeat') return 'heartbeat_stale'
  if (registry.health === 'off') return null
  if (p.health < registry.minHealth) return 'unhealthy'
  if (p.cooldownUntil !== null && now < p.cooldownUntil) return 'cooling_down'
  return null
}

/** The whole Fisher–Yates shuffle, from the first index up. */
export function plainShuffle<T>(sorted: readonly T[], seed: Seed): T[] {
  const draw = plainDice(seed)
  const items = [...sorted]
  for (let i = 0; i <= items.length - 2; i++) {
    const j = i + draw(items.length - i)
    const held = items[i] as T
    items[i] = items[j] as T
    items[j] = held
  }
  return items
}

/** `draw(m)` over one stream of words. */
export function plainDice(seed: Seed): (m: number) => number {
  const words = plainWords(seed)
  return (m) => {
    const limit = Math.floor(2 ** 32 / m) * m
    for (;;) {
      const word = words.next().value
      if (word < limit) return word % m
    }
  }
}

/** `SHA3(seed || u32be(0)) || SHA3(seed || u32be(1)) || …` as 32-bit big-endian words. */
export function* plainWords(seed: Seed): Generator<number, never> {
  for (let counter = 0; ; counter++) {
    const number = Buffer.alloc(4)
    number.writeUInt32BE(counter)
    const block = sha3(Buffer.concat([Buffer.from(seed.slice(2), 'hex'), number]))
    for (let at = 0; at < 32; at += 4) yield block.readUInt32BE(at)
  }
}

/** `H("AICF|pair", job_id, provider_id, seed)` as hex. */
function pair(job: PlainJob, provider: PlainProvider, seed: Seed): string {
  return plainHash([
    Buffer.from('AICF|pair', 'utf8'),
    Buffer.from(job.id.slice(2), 'hex'),
    Buffer.from(provider.id, 'utf8'),
    Buffer.from(seed.slice(2), 'hex'),
  ])
}

/** `SHA3(lp(f0) || lp(f1) || …)` for fields of less than 128 bytes, whose length is one byte. */
function plainHash(fields: readonly Buffer[]): string {
  const parts = fields.flatMap((field) => {
    if (field.length > 127) throw new Error('a longer field needs a longer length')
    return [Buffer.from([field.length]), field]
  })
  return sha3(Buffer.concat(parts)).toString('hex')
}

function sha3(data: Buffer): Buffer {
  return createHash('sha3-256').update(data).digest()
}
