import {
  type Caller,
  type JobId,
  type JobOptions,
  type JobStatus,
  type KindName,
  type LeaseId,
  type LeaseStatus,
  leaseId,
  type Policy,
  type ProviderId,
  type ProviderStatus,
  retryHash,
  type Seed,
} from '../src/index.ts'

/**
 * The market once more, from the rules alone (§4, §8–§12) and as plainly as they can be written:
 * arrays, and a look at everything to see what falls due next. It shares ids and hashes with core
 * and nothing else, so a mistake has to be made twice to go unseen.
 */
export type PlainKind = Exclude<KindName, 'registration'>
export type Answer =
  | 'ok'
  | 'Forbidden'
  | 'InvalidParams'
  | 'InvalidState'
  | 'LeaseNotLive'
  | 'NotFound'
  | 'QueueOverCapacity'
  | 'RenewalsExhausted'

export interface PlainRequest {
  readonly id: JobId
  readonly kind: PlainKind
  readonly caller: Caller
  readonly model: string | null
  readonly units: number
  readonly ttlAbsSecs: number | null
  readonly options: JobOptions | null
}

export interface PlainJob extends PlainRequest {
  readonly enqueueTs: number
  status: JobStatus
  retries: number
  attempt: number | null
  declines: number
  /** Acked attempts in a row whose worker was lost. */
  losses: number
  notBefore: number | null
  /** The jobs that it waits for, and when the last of the others ended. */
  waitsFor: JobId[]
  releasedAt: number | null
  firstAssignedAt: number | null
  endedAt: number | null
  reason: string | null
  /** The completed lease whose proof is awaited. */
  proofOf: PlainLease | null
  denials: { readonly provider: ProviderId; readonly until: number }[]
}

export interface PlainLease {
  readonly id: LeaseId
  readonly job: PlainJob
  readonly provider: PlainProvider
  readonly attempt: number
  readonly tStart: number
  readonly epoch: number
  /** The terms copied at issue. */
  readonly lengthMs: number
  readonly ackTimeoutMs: number
  readonly alpha: number
  readonly beta: number
  readonly renewalsMax: number | null
  tDeadline: number
  timeoutAt: number | null
  renewals: number
  status: LeaseStatus
  acked: boolean
  digest: string | null
  completedAt: number | null
}

export interface PlainProvider {
  readonly id: ProviderId
  readonly leasesMax: number | null
  status: ProviderStatus
  health: number
  failures: number
  cooldownUntil: number | null
  lastHeartbeat: number
  creditedAt: number | null
  silentSteps: number
  classCooldowns: { kind: PlainKind; model: string | null; until: number }[]
  units: { kind: PlainKind; epoch: number; used: number }[]
}

/** What falls due: when, its turn among what is due at one time, whose it is, what it does. */
interface Due {
  readonly at: number
  readonly turn: number
  readonly id: string
  readonly act: () => void
}

const HEALTH_COST = { ACK_TIMEOUT: 50, LEASE_EXPIRED: 150, PROVIDER_FAIL: 100, PROOF_INVALID: 300 }
type Charge = keyof typeof HEALTH_COST

export class PlainMarket {
  now: number
  policy: Policy
  jobs: PlainJob[] = []
  leases: PlainLease[] = []
  /** Jobs whose dependents are yet to be told, in the order in which they ended. */
  ended: PlainJob[] = []
  readonly providers: PlainProvider[] = []

  constructor(policy: Policy, now: number) {
    this.policy = policy
    this.now = now
  }

  register(id: ProviderId, leasesMax: number | null, health: number): void {
    this.providers.push({
      id,
      leasesMax,
      status: 'ACTIVE',
      health,
      failures: 0,
      cooldownUntil: null,
      lastHeartbeat: this.now,
      creditedAt: null,
      silentSteps: 0,
      classCooldowns: [],
      units: [],
    })
  }

  // §4: what falls due takes effect at its own time, and time never goes back.
  advance(given: number): void {
    const to = Math.max(this.now, given)
    for (let due = this.#next(); due !== null && due.at <= to; due = this.#next()) {
      this.now = Math.max(this.now, due.at)
      due.act()
    }
    this.now = to
  }

  enqueue(request: PlainRequest): Answer {
    if (this.job(request.id) !== undefined) return 'ok'
    const { dedupeKey, dependsOn = [], onDependency } = request.options ?? {}
    const twin = this.jobs.find(
      (job) =>
        !hasEnded(job) &&
        job.caller === request.caller &&
        job.kind === request.kind &&
        job.model === request.model &&
        dedupeKey !== undefined &&
        job.options?.dedupeKey === dedupeKey,
    )
    if (twin !== undefined) return 'ok'
    const waiting = this.jobs.filter(({ status }) => status === 'QUEUED')
    const own = waiting.filter(({ caller }) => caller === request.caller)
    const { maxDepth, maxPerCaller } = this.policy.queue
    if (waiting.length >= maxDepth) return 'QueueOverCapacity'
    if (maxPerCaller !== null && own.length >= maxPerCaller) return 'QueueOverCapacity'
    const found = dependsOn.map((id) =>
      this.jobs.find((j) => j.id === id && j.caller === request.caller),
    )
    const isBroken =
      onDependency !== 'run' &&
      found.some((one) => one === undefined || (hasEnded(one) && one.status !== 'COMPLETED'))
    const open = found.flatMap((one) => (one === undefined || hasEnded(one) ? [] : [one.id]))
    this.jobs.push({
      ...request,
      waitsFor: isBroken ? [] : open,
      releasedAt: null,
      enqueueTs: this.now,
      status: 'QUEUED',
      retries: 0,
      attempt: null,
      declines: 0,
      losses: 0,
      notBefore: null,
      firstAssignedAt: null,
      endedAt: null,
      reason: null,
      proofOf: null,
      denials: [],
    })
    const job = this.job(request.id)
    if (isBroken && job !== undefined) this.#end(job, 'CANCELED', 'dependency_failed')
    return 'ok'
  }

  /** Those that waited for a job that has ended hear of it. */
  cascade(): Answer {
    for (let next = this.ended.shift(); next !== undefined; next = this.ended.shift()) {
      for (const job of this.jobs) {
        if (!job.waitsFor.includes(next.id)) continue
        job.waitsFor = job.waitsFor.filter((id) => id !== next.id)
        if (next.status !== 'COMPLETED' && job.options?.onDependency !== 'run') {
          this.#end(job, 'CANCELED', 'dependency_failed')
        } else if (job.waitsFor.length === 0) job.releasedAt = next.endedAt
      }
    }
    return 'ok'
  }

  /** From when a job counts as waiting. */
  readyTs({ enqueueTs, options, releasedAt }: PlainJob): number {
    return Math.max(enqueueTs, options?.runAt ?? 0, releasedAt ?? 0)
  }

  isReady(job: PlainJob): boolean {
    if (job.status !== 'QUEUED' || job.waitsFor.length > 0) return false
    return Math.max(job.notBefore ?? 0, job.options?.runAt ?? 0) <= this.now
  }

  issue(jobId: JobId, providerId: ProviderId, seed: Seed): Answer {
    const job = this.job(jobId)
    const provider = this.provider(providerId)
    if (job === undefined || provider === undefined) return 'NotFound'
    if (job.status !== 'QUEUED') return 'InvalidState'
    const attempt = job.attempt === null ? 0 : job.attempt + 1
    const { lease, quotas } = this.policy.queue
    const lengthMs = 1_000 * perKind(job.kind, lease.aiSecs, lease.quantumSecs, lease.taskSecs)
    const epoch = Math.floor(this.now / (1_000 * quotas.epochSecs))
    job.status = 'ASSIGNED'
    job.attempt = attempt
    job.firstAssignedAt ??= this.now
    this.leases.push({
      id: leaseId({ jobId, providerId, attempt, seed }),
      job,
      provider,
      attempt,
      tStart: this.now,
      epoch,
      lengthMs,
      ackTimeoutMs: this.policy.queue.ackTimeoutMs,
      alpha: lease.renewAlpha,
      beta: lease.renewBeta,
      renewalsMax: lease.renewalsMax,
      tDeadline: this.now + lengthMs,
      timeoutAt: null,
      renewals: 0,
      status: 'ACTIVE',
      acked: false,
      digest: null,
      completedAt: null,
    })
    addUnits(provider, job.kind, epoch, job.units)
    return 'ok'
  }

  ack(id: LeaseId, by: ProviderId): Answer {
    return this.#held(id, by, (lease) => {
      if (!isLive(lease)) return 'LeaseNotLive'
      if (lease.acked) return 'ok'
      lease.acked = true
      lease.job.status = 'RUNNING'
      const timeoutMs = this.#wish(lease.job, 'timeoutMs')
      if (timeoutMs !== null) lease.timeoutAt = this.now + timeoutMs
      return 'ok'
    })
  }

  renew(id: LeaseId, by: ProviderId): Answer {
    return this.#held(id, by, (lease) => {
      if (!isLive(lease)) return 'LeaseNotLive'
      if (!lease.acked) return 'InvalidState'
      if (lease.tDeadline - this.now > lease.lengthMs) return 'ok'
      if (lease.renewalsMax !== null && lease.renewals >= lease.renewalsMax)
        return 'RenewalsExhausted'
      const isLate = this.now > renewBy(lease)
      lease.tDeadline += (lease.lengthMs * lease.beta) / 1_000
      lease.renewals++
      lease.status = 'RENEWED'
      if (isLate) this.#changeHealth(lease.provider, -10)
      return 'ok'
    })
  }

  decline(id: LeaseId, by: ProviderId): Answer {
    return this.#held(id, by, (lease) => {
      if (!isLive(lease)) return 'LeaseNotLive'
      const { job, provider } = lease
      lease.status = 'CANCELLED'
      giveBack(lease)
      job.declines++
      if (!this.#hasHealth()) this.#deny(job, provider, 30)
      else if (job.declines >= 3) this.#deny(job, provider, 600)
      else this.#coolClass(job, provider, 30)
      if (job.declines >= 16) this.#end(job, 'FAILED', 'declined')
      else requeue(job, null)
      return 'ok'
    })
  }

  release(id: LeaseId, by: ProviderId): Answer {
    return this.#held(id, by, (lease) => {
      if (!isLive(lease)) return 'LeaseNotLive'
      this.#takeBack(lease)
      return 'ok'
    })
  }

  /** Its worker is gone for too long, or does not name it when it connects. */
  lose(id: LeaseId): Answer {
    const lease = this.leases.find((candidate) => candidate.id === id)
    if (lease === undefined) return 'NotFound'
    if (!isLive(lease)) return 'LeaseNotLive'
    if (!lease.acked) {
      this.#takeBack(lease)
      return 'ok'
    }
    const { job } = lease
    const losses = job.losses + 1
    lease.status = 'CANCELLED'
    giveBack(lease)
    job.losses = losses
    const { workerLostMax } = this.policy.queue.retries
    if (workerLostMax !== null && losses >= workerLostMax) this.#end(job, 'FAILED', 'worker_lost')
    else requeue(job, this.now + this.#backoffMs(job))
    return 'ok'
  }

  complete(id: LeaseId, by: ProviderId, digest: string, actualUnits: number | null): Answer {
    if (!/^0x[0-9a-f]{64}$/.test(digest)) return 'InvalidParams'
    if (actualUnits !== null && !(Number.isSafeInteger(actualUnits) && actualUnits >= 0))
      return 'InvalidParams'
    return this.#held(id, by, (lease) => {
      if (lease.status === 'COMPLETED') return lease.digest === digest ? 'ok' : 'LeaseNotLive'
      if (!isLive(lease)) return 'LeaseNotLive'
      const { job, provider } = lease
      const { completion } = this.policy.queue
      lease.status = 'COMPLETED'
      lease.acked = true
      endRun(lease)
      lease.digest = digest
      lease.completedAt = this.now
      job.status = 'RUNNING'
      addUnits(provider, job.kind, lease.epoch, (actualUnits ?? job.units) - job.units)
      const verification = perKind(
        job.kind,
        completion.aiVerification,
        completion.quantumVerification,
        completion.taskVerification,
      )
      if (verification === 'proof') job.proofOf = lease
      else this.#finish(job, provider)
      return 'ok'
    })
  }

  fail(id: LeaseId, by: ProviderId, { code, permanent, retryAfterMs }: PlainFailure): Answer {
    if (!(Number.isSafeInteger(retryAfterMs) && retryAfterMs >= 0)) return 'InvalidParams'
    return this.#held(id, by, (lease) => {
      if (!isLive(lease)) return 'LeaseNotLive'
      const isJobsFault = permanent && JOBS_FAULTS.includes(code)
      lease.status = 'CANCELLED'
      giveBack(lease)
      this.#charge(lease, 'PROVIDER_FAIL', { permanent, isJobsFault, retryAfterMs })
      return 'ok'
    })
  }

  cancel(jobId: JobId, by: Caller | 'operator'): Answer {
    const job = this.job(jobId)
    if (job === undefined) return 'NotFound'
    if (by !== 'operator' && by !== job.caller) return 'Forbidden'
    if (hasEnded(job)) return 'InvalidState'
    this.#end(job, 'CANCELED', null)
    return 'ok'
  }

  proof(jobId: JobId, valid: boolean): Answer {
    const job = this.job(jobId)
    if (job === undefined) return 'NotFound'
    if (job.proofOf === null) return 'InvalidState'
    if (valid) this.#finish(job, job.proofOf.provider)
    else this.#charge(job.proofOf, 'PROOF_INVALID')
    return 'ok'
  }

  heartbeat(providerId: ProviderId): Answer {
    const provider = this.provider(providerId)
    if (provider === undefined) return 'NotFound'
    const { heartbeatTimeoutMs, heartbeatIntervalMs } = this.policy.registry
    const isInTime = this.now - provider.lastHeartbeat <= heartbeatTimeoutMs
    const isCreditable =
      provider.creditedAt === null || this.now - provider.creditedAt >= heartbeatIntervalMs
    if (isInTime && isCreditable) {
      provider.creditedAt = this.now
      this.#changeHealth(provider, 10)
    }
    provider.lastHeartbeat = this.now
    provider.silentSteps = 0
    return 'ok'
  }

  /** An operator's word. */
  setStatus(providerId: ProviderId, status: ProviderStatus): Answer {
    const provider = this.provider(providerId)
    if (provider === undefined) return 'NotFound'
    if (provider.status === 'RETIRED' || status === 'REGISTERED') return 'InvalidState'
    if (status === 'ACTIVE')
      provider.health = Math.max(provider.health, this.policy.registry.minHealth)
    this.#setStatus(provider, status)
    return 'ok'
  }

  setPolicy(policy: Policy): Answer {
    const isAsked = this.policy.registry.liveness === 'heartbeat'
    this.policy = policy
    for (const provider of this.providers) {
      if (!isAsked && policy.registry.liveness === 'heartbeat') {
        provider.lastHeartbeat = this.now
        provider.silentSteps = 0
      }
      const newestFirst = this.liveOf(provider).sort(
        (a, b) => b.tStart - a.tStart || (a.id < b.id ? 1 : -1),
      )
      const excess = newestFirst.length - this.capOf(provider)
      for (const lease of newestFirst.slice(0, Math.max(0, excess))) this.#takeBack(lease)
    }
    return 'ok'
  }

  job(id: JobId): PlainJob | undefined {
    return this.jobs.find((job) => job.id === id)
  }

  provider(id: ProviderId): PlainProvider | undefined {
    return this.providers.find((provider) => provider.id === id)
  }

  liveOf(provider: PlainProvider): PlainLease[] {
    return this.leases.filter((lease) => isLive(lease) && lease.provider === provider)
  }

  capOf({ leasesMax }: PlainProvider): number {
    const { leasesMaxPerProvider } = this.policy.queue.quotas
    return leasesMax === null ? leasesMaxPerProvider : Math.min(leasesMax, leasesMaxPerProvider)
  }

  proofDueAt({ proofOf }: PlainJob): number | null {
    if (proofOf === null || proofOf.completedAt === null) return null
    return proofOf.completedAt + 1_000 * this.policy.queue.completion.proofTimeoutSecs
  }

  /** Times soon to come at which something happens or begins to be allowed, for scripts to aim at. */
  moments(): number[] {
    const { heartbeatTimeoutMs, heartbeatIntervalMs } = this.policy.registry
    const times = this.#allDue().map(({ at }) => at)
    for (const job of this.jobs) times.push(job.notBefore ?? 0, job.options?.runAt ?? 0)
    for (const lease of this.leases.filter(isLive))
      times.push(renewBy(lease), lease.tDeadline - lease.lengthMs)
    for (const provider of this.providers) {
      times.push(provider.lastHeartbeat + heartbeatTimeoutMs, provider.cooldownUntil ?? 0)
      times.push((provider.creditedAt ?? 0) + heartbeatIntervalMs)
    }
    return [...new Set(times)]
      .filter((at) => at > this.now && at < this.now + 100_000)
      .sort((a, b) => a - b)
  }

  #next(): Due | null {
    let next: Due | null = null
    for (const due of this.#allDue()) if (next === null || isBefore(due, next)) next = due
    return next
  }

  /** §4's order at one time: ttl_abs, ttl_rel, deadline, ack timeout, proof timeout, heartbeat. */
  #allDue(): Due[] {
    const { ttl } = this.policy.queue
    const { heartbeatTimeoutMs, heartbeatIntervalMs } = this.policy.registry
    const all: Due[] = []
    const add = (turn: number, id: string, at: number, act: () => void): void => {
      all.push({ turn, id, at, act })
    }
    for (const job of this.jobs) {
      if (job.endedAt !== null) continue
      const proofDueAt = this.proofDueAt(job)
      if (job.proofOf !== null && proofDueAt !== null) {
        const { proofOf } = job
        add(4, job.id, proofDueAt, () => this.#charge(proofOf, 'PROOF_INVALID'))
        continue
      }
      const abs =
        job.ttlAbsSecs ??
        perKind(job.kind, ttl.absDefaultAiSecs, ttl.absDefaultQuantumSecs, ttl.absDefaultTaskSecs)
      if (abs !== null && job.waitsFor.length === 0)
        add(0, job.id, this.readyTs(job) + 1_000 * abs, () => this.#end(job, 'EXPIRED', 'ttl_abs'))
      if (job.firstAssignedAt !== null && ttl.relMaxSecs !== null) {
        const at = job.firstAssignedAt + 1_000 * ttl.relMaxSecs
        add(1, job.id, at, () => this.#end(job, 'EXPIRED', 'ttl_rel'))
      }
    }
    for (const lease of this.leases.filter(isLive)) {
      const endsAt = Math.min(lease.tDeadline, lease.timeoutAt ?? Infinity)
      add(2, lease.id, endsAt, () => this.#lapse(lease, 'EXPIRED', 'LEASE_EXPIRED'))
      if (lease.acked) continue
      const at = lease.tStart + lease.ackTimeoutMs
      add(3, lease.id, at, () => this.#lapse(lease, 'CANCELLED', 'ACK_TIMEOUT'))
    }
    // Where there is no health to lose, or workers show that it lives, silence costs nothing.
    const isHeard = !this.#hasHealth() || this.policy.registry.liveness === 'worker'
    for (const provider of isHeard ? [] : this.providers) {
      const late = heartbeatTimeoutMs + (provider.silentSteps + 1) * heartbeatIntervalMs
      add(5, provider.id, provider.lastHeartbeat + late, () => {
        provider.silentSteps++
        this.#changeHealth(provider, -50)
      })
    }
    return all
  }

  #held(id: LeaseId, by: ProviderId, act: (lease: PlainLease) => Answer): Answer {
    const lease = this.leases.find((candidate) => candidate.id === id)
    if (lease === undefined) return 'NotFound'
    return lease.provider.id === by ? act(lease) : 'Forbidden'
  }

  #lapse(lease: PlainLease, status: LeaseStatus, charge: Charge): void {
    lease.status = status
    giveBack(lease)
    this.#charge(lease, charge)
  }

  #charge(
    { job, provider, timeoutAt, tDeadline }: PlainLease,
    charge: Charge,
    { permanent = false, isJobsFault = false, retryAfterMs = 0 } = {},
  ): void {
    const timedOut = timeoutAt !== null && timeoutAt <= tDeadline
    const ownCapMs = this.#wish(job, 'backoff')?.capMs ?? 0
    const longest = this.#hasHealth()
      ? Math.min(
          24 * 3_600_000,
          Math.max(ownCapMs, 1_000 * this.policy.queue.retries.backoffCapSecs),
        )
      : 24 * 3_600_000
    const isTimeout = charge === 'LEASE_EXPIRED' && timedOut
    const waitMs = Math.max(this.#backoffMs(job), Math.min(retryAfterMs, longest))
    job.retries++
    job.proofOf = null
    const { attemptMax } = this.policy.queue.retries
    const wished = this.#wish(job, 'attempts') ?? attemptMax
    const isUsedUp = job.retries >= (this.#hasHealth() ? Math.min(wished, attemptMax) : wished)
    const endStatus = charge === 'ACK_TIMEOUT' || charge === 'LEASE_EXPIRED' ? 'EXPIRED' : 'FAILED'
    if (permanent) this.#end(job, endStatus, 'permanent_error')
    else if (isUsedUp) this.#end(job, endStatus, 'retries_exhausted')
    else requeue(job, this.now + waitMs)
    const isDenied = charge === 'LEASE_EXPIRED' && !isTimeout && this.#hasHealth()
    if (isDenied || charge === 'PROOF_INVALID') this.#deny(job, provider, 60)
    if (isJobsFault || isTimeout || !this.#hasHealth()) return
    provider.failures++
    const k = provider.failures - this.policy.registry.cooldownAfter
    if (k >= 0) {
      const until = this.now + 1_000 * Math.min(900, 30 * 2 ** k)
      provider.cooldownUntil = Math.max(provider.cooldownUntil ?? 0, until)
    }
    this.#changeHealth(provider, -HEALTH_COST[charge])
  }

  /** §23: the job's own wish, or what the policy says of its name or kind. */
  #wish<Name extends 'attempts' | 'backoff' | 'timeoutMs'>(job: PlainJob, name: Name) {
    const { kinds, tasks } = this.policy
    const byName = job.kind === 'task' && job.model !== null ? tasks[job.model] : undefined
    return job.options?.[name] ?? byName?.[name] ?? kinds[job.kind][name]
  }

  #backoffMs(job: PlainJob): number {
    const own = this.#wish(job, 'backoff')
    if (own === null) return this.#kindBackoffMs(job)
    const ms = this.#ownBackoffMs(job, own)
    return this.#hasHealth() ? Math.max(ms, this.#kindBackoffMs(job)) : ms
  }

  /** §23, in fractions of bigints. */
  #ownBackoffMs({ id, retries: n }: PlainJob, own: NonNullable<JobOptions['backoff']>): number {
    const grown =
      (BigInt(own.baseMs) * BigInt(own.factorPermille) ** BigInt(n)) / 1_000n ** BigInt(n)
    const d = grown < BigInt(own.capMs) ? grown : BigInt(own.capMs)
    const j = BigInt(own.jitterPermille)
    const spread = (1_000n - j) * 2n ** 52n + j * vOf(id, n)
    return Number((d * spread + 500n * 2n ** 52n) / (1_000n * 2n ** 52n))
  }

  /** §9 and the seed's factor, in fractions of bigints: n charges before. */
  #kindBackoffMs({ id, kind, retries: n }: PlainJob): number {
    const { retries } = this.policy.queue
    const { baseBackoffAiSecs: ai, baseBackoffQuantumSecs: quantum, baseBackoffTaskSecs } = retries
    const base = BigInt(perKind(kind, ai, quantum, baseBackoffTaskSecs))
    const grown = (base * BigInt(retries.backoffFactor) ** BigInt(n)) / 1_000n ** BigInt(n)
    const cap = BigInt(retries.backoffCapSecs)
    const delay = grown < cap ? grown : cap
    const v = vOf(id, n)
    const secs = (delay * (9n * 2n ** 52n + v) + 5n * 2n ** 52n) / (10n * 2n ** 52n)
    return 1_000 * Number(secs)
  }

  #hasHealth(): boolean {
    return this.policy.registry.health === 'on'
  }

  #changeHealth(provider: PlainProvider, by: number): void {
    if (!this.#hasHealth()) return
    provider.health = Math.min(1_000, Math.max(0, provider.health + by))
    if (provider.status === 'ACTIVE' && provider.health === 0)
      this.#setStatus(provider, 'SUSPENDED')
  }

  #setStatus(provider: PlainProvider, status: ProviderStatus): void {
    provider.status = status
    if (status === 'ACTIVE') return
    for (const lease of this.liveOf(provider)) this.#takeBack(lease)
  }

  #takeBack(lease: PlainLease): void {
    lease.status = 'CANCELLED'
    giveBack(lease)
    requeue(lease.job, null)
  }

  #finish(job: PlainJob, provider: PlainProvider): void {
    job.proofOf = null
    this.#end(job, 'COMPLETED', null)
    if (!this.#hasHealth()) return
    provider.failures = 0
    this.#changeHealth(provider, 20)
  }

  #end(job: PlainJob, status: JobStatus, reason: string | null): void {
    for (const lease of this.leases) {
      if (lease.job !== job || !isLive(lease)) continue
      lease.status = 'CANCELLED'
      giveBack(lease)
    }
    job.status = status
    job.reason = reason
    job.endedAt = this.now
    job.notBefore = null
    job.proofOf = null
    job.waitsFor = []
    this.ended.push(job)
  }

  #deny(job: PlainJob, { id: provider }: PlainProvider, secs: number): void {
    const before = job.denials.find((denial) => denial.provider === provider)
    const until = Math.max(before?.until ?? 0, this.now + 1_000 * secs)
    job.denials = job.denials.filter((denial) => denial !== before)
    job.denials.push({ provider, until })
  }

  #coolClass({ kind, model }: PlainJob, provider: PlainProvider, secs: number): void {
    const others = provider.classCooldowns.filter((c) => c.kind !== kind || c.model !== model)
    provider.classCooldowns = [...others, { kind, model, until: this.now + 1_000 * secs }]
  }
}

export interface PlainFailure {
  readonly code: string
  readonly permanent: boolean
  readonly retryAfterMs: number
}

function vOf(id: JobId, n: number): bigint {
  return BigInt(`0x${Buffer.from(retryHash(id, n)).subarray(0, 8).toString('hex')}`) / 2n ** 11n
}

const JOBS_FAULTS = ['invalid_input', 'validation_error', 'sold_out', 'not_found', 'auth_error']

export function hasEnded({ status }: PlainJob): boolean {
  return status !== 'QUEUED' && status !== 'ASSIGNED' && status !== 'RUNNING'
}

export function isLive({ status }: PlainLease): boolean {
  return status === 'ACTIVE' || status === 'RENEWED'
}

export function renewBy({ tDeadline, lengthMs, alpha }: PlainLease): number {
  return tDeadline - (lengthMs * (1_000 - alpha)) / 1_000
}

function perKind<T>(kind: PlainKind, ai: T, quantum: T, task: T): T {
  return kind === 'ai' ? ai : kind === 'quantum' ? quantum : task
}

function requeue(job: PlainJob, notBefore: number | null): void {
  job.status = 'QUEUED'
  job.notBefore = notBefore
}

/** A lease that ends without a completion gives the estimate back, in the epoch that it came from. */
function giveBack(lease: PlainLease): void {
  const { provider, job, epoch } = lease
  addUnits(provider, job.kind, epoch, -job.units)
  endRun(lease)
}

/** However an acked attempt ends, the run of lost workers is over; a loss counts on from it. */
function endRun({ job, acked }: PlainLease): void {
  if (acked) job.losses = 0
}

function addUnits(provider: PlainProvider, kind: PlainKind, epoch: number, units: number): void {
  const entry = provider.units.find((other) => other.kind === kind && other.epoch === epoch)
  if (entry === undefined) provider.units.push({ kind, epoch, used: units })
  else entry.used += units
}

function isBefore(a: Due, b: Due): boolean {
  if (a.at !== b.at) return a.at < b.at
  return a.turn === b.turn ? a.id < b.id : a.turn < b.turn
}
