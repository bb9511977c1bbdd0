import {
  type Caller,
  isLive,
  Job,
  type JobRow,
  KIND_NAMES,
  type KindName,
  type Lease,
  type LeaseRow,
  type Market,
  newProvider,
  openMarket,
  type Policy,
  type Provider,
} from '@fairlead/core'
import {
  BulkRuns,
  classKey,
  dedupeNameOf,
  type EndReason,
  type FairState,
  holdLease,
  newWorkers,
  Pauses,
  type ProviderRow,
  type QueueState,
  Schedules,
  type Snapshot,
  type Touch,
} from '@fairlead/core/internal'
import { restoreBulkRuns } from '../projector/bulk-rows.ts'
import { restoreDependencies } from '../projector/dependency-rows.ts'
import { BALANCE_LANE, restoreFund } from '../projector/fund-rows.ts'
import { restoreLimits } from '../projector/limit-rows.ts'
import { restorePauses } from '../projector/pause-rows.ts'
import { restoreSchedules } from '../projector/schedule-rows.ts'
import { restoreSessions } from '../projector/session-rows.ts'
import { QUEUE_KEYS } from './meta.ts'

/** Builds the market from its rows, exactly as it was when they were written (ENGINE-4). */
export function restoreMarket(options: {
  readonly snapshot: Snapshot
  readonly policy: Policy
  readonly nowMs: number
  readonly emit: Market['emit']
  readonly touch: Touch
}): Market {
  const { snapshot, policy, nowMs, emit, touch } = options
  const queues = queueStates(snapshot)
  const limits = restoreLimits(snapshot, nowMs)
  const { state: sessions, records, seats } = restoreSessions(snapshot, nowMs)
  const pauses = new Pauses(restorePauses(snapshot))
  const schedules = new Schedules(restoreSchedules(snapshot))
  const market = openMarket({
    policy,
    nowMs,
    emit,
    touch,
    queues,
    limits,
    sessions,
    fund: restoreFund(snapshot),
    endedDependencies: restoreDependencies(snapshot),
    pauses,
    schedules,
    bulk: new BulkRuns(restoreBulkRuns(snapshot)),
  })
  for (const record of records) market.seats.setOpening(record, record.opensAt, record.isOperators)
  for (const seat of seats) market.seats.take(seat, false)
  for (const row of snapshot.providers) {
    const provider = restoreProvider(row)
    market.pool.add(provider)
    market.due.silence.add(provider)
    market.jail.note(provider, nowMs)
  }
  // An older version kept stakes with their providers alone.
  if (!snapshot.lanes.some(({ lane }) => lane === BALANCE_LANE)) {
    for (const { id, stake } of snapshot.providers) if (stake > 0n) market.fund.stake(id, stake)
  }
  for (const row of snapshot.jobs) restoreJob(market, row)
  for (const { id } of snapshot.jobs) restoreDependent(market, market.jobs.get(id) as Job)
  for (const row of snapshot.leases) restoreLease(market, row)
  for (const { id } of snapshot.jobs) putIntoHeaps(market, market.jobs.get(id) as Job)
  return market
}

function restoreJob(market: Market, row: JobRow): void {
  const { id, kind, caller, tier, fee, sizeBytes, regions, needs, ttlAbsSecs, origin, seq } = row
  const { options } = row
  const { model, shots, depthHint, units, tokens } = row
  const demand = { model, shots, depthHint, units, tokens }
  const asked = { id, kind, caller, tier, fee, sizeBytes, demand, regions, needs }
  const job = new Job({ ...asked, ttlAbsSecs, origin, options, enqueueSeq: seq }, row.enqueueTs)
  job.status = row.status
  if (row.attempt !== null) job.attempt = row.attempt
  if (row.retries > 0) job.retries = row.retries
  if (row.declines > 0) job.declines = row.declines
  if (row.workerLosses > 0) job.workerLosses = row.workerLosses
  job.notBefore = row.notBefore
  job.firstAssignedAt = row.firstAssignedAt
  job.endedAt = row.endedAt
  job.reason = row.reason as EndReason | null
  if (row.proofAwaitedSince !== null) job.proofAwaitedSince = row.proofAwaitedSince
  if (row.denials.length > 0) job.denials = new Map(row.denials)
  job.releasedAt = row.releasedAt
  market.jobs.add(job)
  if (options?.dedupeKey !== undefined) market.dedupe.set(dedupeNameOf(job), job.id)
  if (kind !== 'registration') return
  job.session = market.sessions.job(id) ?? null
  if (job.session === null) return
  const { platform, orgRef, eventId, seat } = job.session.entry
  market.seats.take({ platform, orgRef, eventId, seat, caller: job.caller, jobId: id }, true)
}

/**
 * A waiting job waits for those of its dependencies that are alive, and for those that ended and have not told it. A
 * job that was accepted later only has the id of a dependency that was not there.
 */
function restoreDependent({ jobs, dependencies }: Market, job: Job): void {
  const ids = job.options?.dependsOn
  if (ids === undefined || job.status !== 'QUEUED' || job.attempt !== null) return
  if (job.releasedAt !== null) return
  const open = ids.filter((id) => {
    const other = jobs.get(id)
    const isAlive = other?.caller === job.caller && other.enqueueSeq < job.enqueueSeq
    return isAlive || dependencies.hasEnded(id, job)
  })
  if (open.length > 0) dependencies.add(job, open)
}

function restoreLease(market: Market, row: LeaseRow): void {
  const job = market.jobs.get(row.jobId) as Job
  const provider = market.pool.get(row.providerId) as Provider
  const { lengthMs, ackTimeoutMs, renewAlpha, renewBeta, renewalsMax } = row
  const lease: Lease = {
    id: row.id,
    job,
    provider,
    workerId: row.workerId,
    attempt: row.attempt,
    terms: { lengthMs, ackTimeoutMs, renewAlpha, renewBeta, renewalsMax },
    tStart: row.tStart,
    tDeadline: row.tDeadline,
    timeoutAt: row.timeoutAt,
    epoch: row.epoch,
    renewals: row.renewals,
    status: row.status,
    isAcked: row.isAcked,
    digest: row.digest,
    heapBits: 0,
  }
  job.leases ??= []
  job.leases.push(lease)
  market.leases.set(lease.id, lease)
  if (isLive(lease.status)) holdLease(market, lease)
}

/** Puts a job into its queue and into the heaps of its deadlines. */
function putIntoHeaps(market: Market, job: Job): void {
  if (job.status === 'QUEUED') {
    market.queues.get(job.shape.kind)?.push(job)
    market.waitingOf.set(job.caller, (market.waitingOf.get(job.caller) ?? 0) + 1)
  }
  if (job.proofAwaitedSince !== null) {
    return
  }
  market.due.enterTtls(job)
}

function restoreProvider(row: ProviderRow): Provider {
  const { id, status, standing, stake, publicKey, attestation, health } = row
  const { maxDepth, maxShots, maxWidth, region, leasesMax } = row
  const provider = newProvider({
    id,
    status,
    standing,
    stake,
    publicKey,
    attestation,
    health,
    lastHeartbeat: row.lastHeartbeat,
    workers: row.workers === null ? null : newWorkers(row.workers),
    offer: {
      capabilities: new Set(row.capabilities),
      models: new Set(row.models),
      platforms: new Set(row.platforms),
      maxDepth,
      maxShots,
      maxWidth,
      gates: row.gates === null ? null : new Set(row.gates),
      precision: row.precision === null ? null : new Set(row.precision),
      region,
      allow: row.allow === null ? null : new Set(row.allow),
      deny: new Set(row.deny),
      leasesMax,
    },
  })
  provider.creditedAt = row.creditedAt
  provider.silentSteps = row.silentSteps
  provider.failures = row.failures
  provider.cooldownUntil = row.cooldownUntil
  for (const cooldown of row.classCooldowns) {
    provider.classCooldowns.set(classKey(cooldown.kind, cooldown.model), cooldown)
  }
  for (const [kind, epoch, units] of row.units) {
    const epochs = provider.units.get(kind) ?? new Map<number, number>()
    epochs.set(epoch, units)
    provider.units.set(kind, epochs)
  }
  return provider
}

function queueStates({ meta, shares }: Snapshot): ReadonlyMap<KindName, QueueState> {
  return new Map(
    KIND_NAMES.map((kind) => {
      const finish = new Map<Caller, bigint>()
      for (const row of shares) {
        if (row.kind === kind && row.finish !== null) finish.set(row.caller, row.finish)
      }
      const keys = QUEUE_KEYS[kind]
      const fair: FairState = { virtual: BigInt(meta[keys.virtual] ?? 0), finish }
      return [kind, { grants: Number(meta[keys.grants] ?? 0), fair }]
    }),
  )
}
