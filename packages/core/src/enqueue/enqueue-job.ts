import type { Caller, JobId } from '../encoding/ids.ts'
import { FairleadError, invalidParams } from '../errors.ts'
import { Job, type JobNeeds, type JobOrigin } from '../market/job.ts'
import { type Market, queueFor } from '../market/market.ts'
import { breakOff } from '../options/cascade.ts'
import { dedupeNameOf, duplicateOf } from '../options/dedupe.ts'
import type { JobOptions } from '../options/job-options.ts'
import { hasEnded } from '../outcome/job-table.ts'
import { countWaiting } from '../outcome/move-job.ts'
import { checkSession, joinSession, type SessionFacts } from '../sessions/join-session.ts'
import type { Demand, KindName } from './kinds.ts'

export interface NewJob {
  readonly id: JobId
  readonly kind: KindName
  readonly caller: Caller
  readonly tier: string
  readonly fee: bigint
  readonly sizeBytes: number
  readonly demand: Demand
  readonly regions: readonly string[] | null
  readonly needs?: JobNeeds | null
  readonly ttlAbsSecs: number | null
  readonly origin?: JobOrigin | null
  readonly options?: JobOptions | null
  /** Those of the jobs that it depends on that completed before, as far as they are not in memory. */
  readonly completed?: readonly JobId[]
  readonly enqueueSeq: number
  /** True if the caller of this function has made sure that no job has this id. */
  readonly isNew?: boolean
  /** Registrations only. */
  readonly session?: SessionFacts | null
}

/**
 * Enqueues a job. The same id again is the same request and changes nothing, nor does a job whose dedupe key a live
 * one has: the answer is that job.
 */
export function enqueueJob(market: Market, request: NewJob): Job {
  const known = request.isNew === true ? undefined : market.jobs.get(request.id)
  if (known !== undefined) return known
  const { session = null, options = null } = request
  const scope = { caller: request.caller, kind: request.kind, model: request.demand.model }
  const duplicate = duplicateOf(market, scope, options?.dedupeKey)
  if (duplicate !== undefined) return duplicate
  const { tiers } = market.policy.priority
  if (!Object.hasOwn(tiers, request.tier)) {
    throw invalidParams('tier', `one of ${Object.keys(tiers).join(', ')}`)
  }
  refuseOverCapacity(market, request.caller)
  if (session !== null) checkSession(market, session, request.caller, request.ttlAbsSecs)
  const { open, isBroken } = dependenciesOf(market, request)
  market.dependencies.refuseTooMany(open)
  const job = newJob(request, market.nowMs)
  if (open.length > 0) market.dependencies.add(job, open)
  if (session === null) queueFor(market, request.kind).push(job)
  else job.session = joinSession(market, job, session)
  market.jobs.add(job)
  if (options?.dedupeKey !== undefined) market.dedupe.set(dedupeNameOf(job), job.id)
  countWaiting(market, job, job.status, 1)
  market.due.enterTtls(job)
  market.touch.job(job)
  const event = { type: 'jobEnqueued', at: market.nowMs, jobId: job.id } as const
  market.emit(job.origin === null ? event : { ...event, ...job.origin }, job)
  if (isBroken) breakOff(market, job)
  return job
}

const NO_DEPENDENCIES = { open: [], isBroken: false } as const

/** The dependencies of a request that are still alive, and if one of the others ends the job at once (OPTIONS-8). */
function dependenciesOf(
  { jobs }: Market,
  { options, caller, completed = [] }: NewJob,
): { readonly open: readonly JobId[]; readonly isBroken: boolean } {
  const { dependsOn, onDependency } = options ?? {}
  if (dependsOn === undefined) return NO_DEPENDENCIES
  const open: JobId[] = []
  let isBroken = false
  for (const id of dependsOn) {
    const job = jobs.get(id)
    const isOwn = job?.caller === caller
    if (isOwn && !hasEnded(job.status)) open.push(id)
    else if (!(isOwn && job.status === 'COMPLETED') && !completed.includes(id)) isBroken = true
  }
  return isBroken && onDependency !== 'run' ? { open: [], isBroken } : { open, isBroken: false }
}

/** A job at the start of its life. */
export function newJob(request: NewJob, enqueueTs: number): Job {
  return new Job(request, enqueueTs)
}

/** ENQUEUE-7: a full queue does not grow. It refuses the job and says when to try again. */
function refuseOverCapacity(market: Market, caller: Caller): void {
  const { maxDepth, maxPerCaller, dispatchIntervalMs } = market.policy.queue
  let depth = market.sessions.waitingSize
  for (const queue of market.queues.values()) depth += queue.size
  const own = market.waitingOf.get(caller) ?? 0
  const limit =
    depth >= maxDepth ? 'max_depth' : own >= (maxPerCaller ?? Infinity) ? 'max_per_caller' : null
  if (limit === null) return
  throw new FairleadError(
    'QueueOverCapacity',
    limit === 'max_depth'
      ? `${depth} jobs are waiting, the most allowed; try again later`
      : `${own} of your jobs are waiting, the most allowed; try again when some have run`,
    { limit, retry_after_ms: dispatchIntervalMs },
  )
}
