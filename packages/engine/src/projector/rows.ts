import type { Job, KindName, Lease, LeaseRow, Provider, ProviderOffer } from '@fairlead/core'
import {
  compareAscii,
  compareText,
  type JobState,
  type NewJobRow,
  type ProviderRow,
  type WorkerRow,
  type Workers,
  type WriteBatch,
} from '@fairlead/core/internal'
import type { JobRequest } from '../commands/command.ts'

/** The stored form of the state in memory. `restoreMarket` does the reverse. */

// Written out field by field, because a spread of this many fields takes ten times as long.

export function jobRow(job: Job, request: JobRequest): NewJobRow {
  const { caller, tier, kind, model, shots, depthHint, regions, needs } = job.shape
  return {
    id: job.id,
    seq: job.enqueueSeq,
    kind,
    caller,
    tier,
    fee: job.fee,
    sizeBytes: job.sizeBytes,
    model,
    shots,
    depthHint,
    units: job.units,
    tokens: job.tokens,
    regions,
    needs,
    ttlAbsSecs: job.ttlAbsSecs,
    enqueueTs: job.enqueueTs,
    chainId: request.chainId,
    enqueueHeight: request.enqueueHeight,
    txHash: request.txHash,
    origin: job.origin,
    options: job.options,
    status: job.status,
    providerId: job.leases?.at(-1)?.provider.id ?? null,
    attempt: job.attempt,
    retries: job.retries,
    declines: job.declines,
    workerLosses: job.workerLosses,
    notBefore: job.notBefore,
    firstAssignedAt: job.firstAssignedAt,
    endedAt: job.endedAt,
    reason: job.reason,
    proofAwaitedSince: job.proofAwaitedSince,
    denials: denialsOf(job),
    releasedAt: job.releasedAt,
  }
}

export function jobState(job: Job): WriteBatch['jobs'][number] {
  return {
    id: job.id,
    seq: job.enqueueSeq,
    status: job.status,
    providerId: job.leases?.at(-1)?.provider.id ?? null,
    attempt: job.attempt,
    retries: job.retries,
    declines: job.declines,
    workerLosses: job.workerLosses,
    notBefore: job.notBefore,
    firstAssignedAt: job.firstAssignedAt,
    endedAt: job.endedAt,
    reason: job.reason,
    proofAwaitedSince: job.proofAwaitedSince,
    denials: denialsOf(job),
    releasedAt: job.releasedAt,
  }
}

const NO_DENIALS: JobState['denials'] = []

function denialsOf({ denials }: Job): JobState['denials'] {
  if (denials === null) return NO_DENIALS
  return [...denials].sort(([a], [b]) => compareAscii(a, b))
}

export function leaseRow(lease: Lease, round: number): LeaseRow {
  const { lengthMs, ackTimeoutMs, renewAlpha, renewBeta, renewalsMax } = lease.terms
  return {
    lengthMs,
    ackTimeoutMs,
    renewAlpha,
    renewBeta,
    renewalsMax,
    id: lease.id,
    jobId: lease.job.id,
    jobSeq: lease.job.enqueueSeq,
    providerId: lease.provider.id,
    attempt: lease.attempt,
    status: lease.status,
    tStart: lease.tStart,
    tDeadline: lease.tDeadline,
    timeoutAt: lease.timeoutAt,
    renewals: lease.renewals,
    isAcked: lease.isAcked,
    epoch: lease.epoch,
    round,
    digest: lease.digest,
    workerId: lease.workerId,
  }
}

export function leaseState(lease: Lease): WriteBatch['leases'][number] {
  return {
    id: lease.id,
    jobSeq: lease.job.enqueueSeq,
    attempt: lease.attempt,
    status: lease.status,
    tDeadline: lease.tDeadline,
    timeoutAt: lease.timeoutAt,
    renewals: lease.renewals,
    isAcked: lease.isAcked,
    digest: lease.digest,
    ackTimeoutMs: lease.terms.ackTimeoutMs,
    workerId: lease.workerId,
  }
}

export function providerRow(provider: Provider): ProviderRow {
  const offer = offerRow(provider.offer)
  // Sorted, because a map that was reloaded may have another order.
  const units: [KindName, number, number][] = []
  for (const [kind, epochs] of provider.units) {
    for (const [epoch, n] of epochs) units.push([kind, epoch, n])
  }
  units.sort(([a, i], [b, j]) => compareAscii(a, b) || i - j)
  const cooldowns = [...provider.classCooldowns].sort(([a], [b]) => compareText(a, b))
  return {
    id: provider.id,
    status: provider.status,
    capabilities: offer.capabilities,
    models: offer.models,
    platforms: offer.platforms,
    maxDepth: offer.maxDepth,
    maxShots: offer.maxShots,
    maxWidth: offer.maxWidth,
    gates: offer.gates,
    precision: offer.precision,
    region: offer.region,
    allow: offer.allow,
    deny: offer.deny,
    leasesMax: offer.leasesMax,
    stake: provider.stake,
    standing: provider.standing,
    publicKey: provider.publicKey,
    attestation: provider.attestation,
    lastHeartbeat: provider.lastHeartbeat,
    creditedAt: provider.creditedAt,
    silentSteps: provider.silentSteps,
    health: provider.health,
    failures: provider.failures,
    cooldownUntil: provider.cooldownUntil,
    classCooldowns: cooldowns.map(([, cooldown]) => cooldown),
    units,
    workers: workerRows(provider),
  }
}

type OfferRow = Pick<ProviderRow, keyof ProviderOffer>

/** Cached: an offer is never modified, only replaced, and its provider is written with every batch. */
const offerRows = new WeakMap<ProviderOffer, OfferRow>()

function offerRow(offer: ProviderOffer): OfferRow {
  const known = offerRows.get(offer)
  if (known !== undefined) return known
  const { capabilities, models, platforms, gates, precision, allow, deny } = offer
  const row = {
    ...offer,
    capabilities: [...capabilities].sort(),
    models: [...models].sort(),
    platforms: [...platforms].sort(),
    gates: gates === null ? null : [...gates].sort(),
    precision: precision === null ? null : [...precision].sort(),
    allow: allow === null ? null : [...allow].sort(),
    deny: [...deny].sort(),
  }
  offerRows.set(offer, row)
  return row
}

/** Cached: workers rarely come, go or change, and until one does the list stays the same. */
const workerLists = new WeakMap<Workers, readonly WorkerRow[]>()

function workerRows({ workers }: Provider): readonly WorkerRow[] | null {
  if (workers === null) return null
  const known = workerLists.get(workers)
  if (known !== undefined && areAlike(known, workers)) return known
  const rows: WorkerRow[] = []
  for (const { id, slots, goneSince } of workers.byId.values()) rows.push({ id, slots, goneSince })
  rows.sort((a, b) => compareAscii(a.id, b.id))
  workerLists.set(workers, rows)
  return rows
}

function areAlike(rows: readonly WorkerRow[], { byId }: Workers): boolean {
  if (rows.length !== byId.size) return false
  return rows.every(({ id, slots, goneSince }) => {
    const worker = byId.get(id)
    return worker?.slots === slots && worker.goneSince === goneSince
  })
}
