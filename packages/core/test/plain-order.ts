import type { Caller, JobId } from '../src/encoding/ids.ts'
import type { KindName } from '../src/enqueue/kinds.ts'
import type { Policy } from '../src/policy/policy.ts'

/**
 * The order of waiting jobs as the rules write it, with nothing but arrays, sorts and bigints. The
 * tests compare the queue with this. It shares no code with it.
 */

export interface PlainJob {
  readonly id: JobId
  readonly kind: KindName
  readonly caller: Caller
  readonly tier: string
  readonly fee: bigint
  readonly sizeBytes: number
  readonly enqueueTs: number
  readonly enqueueSeq: number
  readonly notBefore: number | null
  /** Among the jobs of its caller; 0 if none was given. */
  readonly priority?: number
  /** When it was to run at the earliest. */
  readonly runAt?: number
  /** ai: the model; task: the name; else null. */
  readonly model: string | null
  readonly maxTokens: number
  readonly shots: number
  readonly depthHint: number
  readonly regions: readonly string[] | null
  readonly needs: PlainNeeds | null
  /** Provider → until when it may not take this job. */
  readonly denials: Readonly<Record<string, number>>
}

/** What a job asks of a provider beside its payload; null is no demand. */
export interface PlainNeeds {
  readonly precision: readonly string[] | null
  readonly widthHint: number
  readonly gates: readonly string[] | null
}

const R = 1_000_000n

export function plainUnits(job: PlainJob): number {
  if (job.kind === 'ai') return Math.ceil(job.maxTokens / 100)
  if (job.kind === 'quantum') return Math.ceil((job.shots * Math.max(1, job.depthHint)) / 10_000)
  return 1
}

/** `score = static·A + w_age·R·age`. */
export function plainScore(job: PlainJob, now: number, policy: Policy): bigint {
  const { weights, feeHalf, sizeHalf, tiers, ageHorizonSecs } = policy.priority
  const horizon = BigInt(ageHorizonSecs)
  const fee = (R * job.fee) / (job.fee + feeHalf)
  const size = (R * sizeHalf) / (BigInt(job.sizeBytes) + sizeHalf)
  const tier = BigInt(tiers[job.tier] ?? 0)
  const waited = BigInt(Math.floor(now / 1_000) - Math.floor(readyTs(job) / 1_000))
  const age = waited < horizon ? waited : horizon
  const fixed =
    BigInt(weights.fee) * fee + BigInt(weights.size) * size + BigInt(weights.tier) * tier
  return fixed * horizon + BigInt(weights.age) * R * age
}

/**
 * `score DESC, ready_ts ASC, enqueue_seq ASC, job_id ASC`; under fair shares `priority DESC` first. With `match.ties` `pair_hash`,
 * `enqueue_seq` does not count.
 */
export function sortedByScore<T extends PlainJob>(jobs: readonly T[], now: number, policy: Policy) {
  const scores = new Map(jobs.map((job) => [job, plainScore(job, now, policy)]))
  const scoreOf = (job: T) => scores.get(job) ?? 0n
  return jobs.toSorted(
    (a, b) =>
      (policy.match.fairness === 'tenant' ? sign(b.priority ?? 0, a.priority ?? 0) : 0) ||
      sign(scoreOf(b), scoreOf(a)) ||
      sign(readyTs(a), readyTs(b)) ||
      (policy.match.ties === 'arrival' ? sign(a.enqueueSeq, b.enqueueSeq) : 0) ||
      sign(a.id, b.id),
  )
}

/** `enqueue_ts ASC, job_id ASC`: the starvation guard's order. */
export function sortedByWait<T extends PlainJob>(jobs: readonly T[]): T[] {
  return jobs.toSorted((a, b) => sign(readyTs(a), readyTs(b)) || sign(a.id, b.id))
}

export function isReady(job: PlainJob, now: number): boolean {
  return now >= (job.notBefore ?? job.runAt ?? 0)
}

/** From when a job counts as waiting. */
export function readyTs({ enqueueTs, runAt = 0 }: PlainJob): number {
  return Math.max(enqueueTs, runAt)
}

export interface PlainBatch<T extends PlainJob> {
  readonly jobs: readonly T[]
  readonly picks: readonly JobId[]
}

/** Step 1 of a round over the jobs that may be taken: place by place, a pick at every k-th grant. */
export function plainScoreBatch<T extends PlainJob>(
  takeable: readonly T[],
  { now, size, grants, policy }: { now: number; size: number; grants: number; policy: Policy },
  isAdmitted: (job: T) => boolean = () => true,
): PlainBatch<T> {
  const left = new Set(takeable)
  const jobs: T[] = []
  const picks: JobId[] = []
  for (let i = 0; i < size && left.size > 0; i++) {
    const isPick = (grants + i + 1) % policy.queue.starvationK === 0
    const order = isPick ? sortedByWait([...left]) : sortedByScore([...left], now, policy)
    const next = firstAdmitted(order, left, isAdmitted)
    if (next === undefined) break
    jobs.push(next)
    if (isPick) picks.push(next.id)
  }
  return { jobs, picks }
}

/** Takes the first that is admitted out of `left`, with all that were asked before it. */
function firstAdmitted<T>(
  order: readonly T[],
  left: Set<T>,
  isAdmitted: (job: T) => boolean,
): T | undefined {
  for (const job of order) {
    left.delete(job)
    if (isAdmitted(job)) return job
  }
  return undefined
}

/** V and every V_c of one queue. Nobody is forgotten here; below V nobody is told apart anyway. */
export class PlainShares {
  virtual = 0n
  readonly finish = new Map<Caller, bigint>()

  copy(): PlainShares {
    const copy = new PlainShares()
    copy.virtual = this.virtual
    for (const [caller, at] of this.finish) copy.finish.set(caller, at)
    return copy
  }

  start(caller: Caller): bigint {
    const finish = this.finish.get(caller) ?? 0n
    return finish > this.virtual ? finish : this.virtual
  }

  book(job: PlainJob, policy: Policy): void {
    const start = this.start(job.caller)
    this.finish.set(job.caller, start + plainCost(job, plainUnits(job), policy))
    this.virtual = start
  }

  settle(job: PlainJob, actualUnits: number, policy: Policy): void {
    const actual = plainCost(job, actualUnits, policy)
    const estimate = plainCost(job, plainUnits(job), policy)
    this.finish.set(job.caller, this.start(job.caller) + actual - estimate)
  }

  /** V and each V_c above it. */
  state(): { virtual: bigint; finish: Map<Caller, bigint> } {
    const ahead = [...this.finish].filter(([, at]) => at > this.virtual)
    return { virtual: this.virtual, finish: new Map(ahead.toSorted(([a], [b]) => sign(a, b))) }
  }
}

export function plainWeight(job: PlainJob, policy: Policy): number {
  return policy.match.tenantWeights[job.caller] ?? policy.match.tierWeights[job.tier] ?? 1
}

/** `floor(units·2^20 / weight)`. */
export function plainCost(job: PlainJob, units: number, policy: Policy): bigint {
  return (BigInt(units) * 2n ** 20n) / BigInt(plainWeight(job, policy))
}

/** Step 1 under `match.fairness: tenant`, on a copy of the shares. */
export function plainShareBatch<T extends PlainJob>(
  takeable: readonly T[],
  shares: PlainShares,
  { now, size, policy }: { now: number; size: number; policy: Policy },
  isAdmitted: (job: T) => boolean = () => true,
): PlainBatch<T> {
  const trial = shares.copy()
  const left = new Set(takeable)
  const jobs: T[] = []
  while (jobs.length < size && left.size > 0) {
    const callers = [...new Set([...left].map((job) => job.caller))]
    const [caller] = callers.toSorted((a, b) => sign(trial.start(a), trial.start(b)) || sign(a, b))
    const own = [...left].filter((job) => job.caller === caller)
    const next = firstAdmitted(sortedByScore(own, now, policy), left, isAdmitted)
    if (next === undefined) continue
    jobs.push(next)
    trial.book(next, policy)
  }
  return { jobs, picks: [] }
}

export function sign<T extends string | number | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}
