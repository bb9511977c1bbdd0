import {
  type AuditHead,
  type Caller,
  EMPTY_AUDIT,
  type JobId,
  type JobRow,
  type JobState,
  type JournalRow,
  type LeaseId,
  type LeaseRow,
  type ProviderId,
  type ProviderRow,
  type ResultRow,
  type RoundRow,
  type ShareRow,
  type WorkerId,
} from '@fairlead/core'
import {
  bytesOf,
  detailsCell,
  detailsOf,
  jsonCell,
  jsonOf,
  listCell,
  listOf,
  rawOf,
  textCell,
  textOf,
} from './cells.ts'
import type { Columns, SqlValue } from './driver.ts'

/**
 * The one place where a column becomes a field and a field a column. For each table: its row out of
 * the columns, and the parameters of the statement that writes it, in the order of that statement.
 */

export function jobRow(c: Columns): JobRow {
  return {
    id: c['id'] as JobId,
    seq: c['seq'] as number,
    kind: c['kind'] as JobRow['kind'],
    caller: c['caller_id'] as Caller,
    tier: textOf(c['tier']),
    fee: BigInt(c['fee'] as string),
    sizeBytes: c['size_bytes'] as number,
    model: c['model'] === null ? null : textOf(c['model']),
    shots: c['shots'] as number,
    depthHint: c['depth_hint'] as number,
    units: c['units'] as number,
    regions: c['regions'] === null ? null : jsonOf(c['regions']),
    ttlAbsSecs: c['ttl_abs_secs'] as number | null,
    enqueueTs: c['enqueue_ts'] as number,
    chainId: BigInt(c['chain_id'] as string),
    enqueueHeight: BigInt(c['enqueue_height'] as string),
    txHash: c['tx_hash'] as string,
    status: c['status'] as JobRow['status'],
    providerId: c['provider_id'] as ProviderId | null,
    attempt: c['attempt'] as number | null,
    retries: c['retries'] as number,
    declines: c['declines'] as number,
    notBefore: c['not_before'] as number | null,
    firstAssignedAt: c['first_assigned_at'] as number | null,
    endedAt: c['ended_at'] as number | null,
    reason: c['reason'] as JobRow['reason'],
    proofAwaitedSince: c['proof_awaited_since'] as number | null,
    denials: listOf(c['denials']),
  }
}

/** Numbers stand in for the ids of the job and its caller. */
export function jobParams(row: JobRow, no: number, callerNo: number): SqlValue[] {
  return [
    no,
    row.seq,
    callerNo,
    bytesOf(row.txHash),
    row.kind,
    row.enqueueHeight.toString(),
    textCell(row.tier),
    row.fee.toString(),
    row.sizeBytes,
    row.model === null ? null : textCell(row.model),
    row.shots,
    row.depthHint,
    row.units,
    row.regions === null ? null : jsonCell(row.regions),
    row.ttlAbsSecs,
    row.enqueueTs,
    row.chainId.toString(),
    ...stateParams(row),
  ]
}

export function stateParams(state: JobState): SqlValue[] {
  return [
    state.status,
    state.providerId,
    state.attempt,
    state.retries,
    state.declines,
    state.notBefore,
    state.firstAssignedAt,
    state.endedAt,
    state.reason,
    state.proofAwaitedSince,
    listCell(state.denials),
  ]
}

export function leaseRow(c: Columns): LeaseRow {
  return {
    id: c['id'] as LeaseId,
    jobId: c['job_id'] as JobId,
    providerId: c['provider_id'] as ProviderId,
    attempt: c['attempt'] as number,
    status: c['status'] as LeaseRow['status'],
    tStart: c['t_start'] as number,
    tDeadline: c['t_deadline'] as number,
    renewals: c['renewals'] as number,
    isAcked: c['is_acked'] === 1,
    epoch: c['epoch'] as number,
    round: c['round'] as number,
    digest: c['digest'] as string | null,
    lengthMs: c['length_ms'] as number,
    ackTimeoutMs: c['ack_timeout_ms'] as number,
    renewAlpha: c['renew_alpha'] as number,
    renewBeta: c['renew_beta'] as number,
    renewalsMax: c['renewals_max'] as number,
    workerId: c['worker_id'] === null ? null : (textOf(c['worker_id']) as WorkerId),
  }
}

export function leaseParams(row: LeaseRow, jobNo: number): SqlValue[] {
  return [
    jobNo,
    row.attempt,
    bytesOf(row.id),
    row.status,
    row.providerId,
    row.tStart,
    row.tDeadline,
    row.renewals,
    row.isAcked ? 1 : 0,
    row.epoch,
    row.round,
    row.digest === null ? null : bytesOf(row.digest),
    row.lengthMs,
    row.ackTimeoutMs,
    row.renewAlpha,
    row.renewBeta,
    row.renewalsMax,
    row.workerId === null ? null : textCell(row.workerId),
  ]
}

export function providerRow(c: Columns): ProviderRow {
  return {
    id: c['id'] as ProviderId,
    status: c['status'] as ProviderRow['status'],
    capabilities: jsonOf(c['capabilities']),
    models: jsonOf(c['models']),
    maxDepth: c['max_depth'] as number | null,
    maxShots: c['max_shots'] as number | null,
    region: c['region'] === null ? null : textOf(c['region']),
    allow: c['allow'] === null ? null : jsonOf(c['allow']),
    deny: jsonOf(c['deny']),
    leasesMax: c['leases_max'] as number | null,
    stake: BigInt(c['stake'] as string),
    attestation: c['attestation'] === null ? null : jsonOf(c['attestation']),
    lastHeartbeat: c['last_heartbeat'] as number,
    creditedAt: c['credited_at'] as number | null,
    silentSteps: c['silent_steps'] as number,
    health: c['health'] as number,
    failures: c['failures'] as number,
    cooldownUntil: c['cooldown_until'] as number | null,
    classCooldowns: jsonOf(c['class_cooldowns']),
    units: jsonOf(c['units']),
    workers: c['workers'] === null ? null : jsonOf(c['workers']),
  }
}

export function providerParams(row: ProviderRow): SqlValue[] {
  return [
    row.id,
    row.status,
    jsonCell(row.capabilities),
    jsonCell(row.models),
    row.maxDepth,
    row.maxShots,
    row.region === null ? null : textCell(row.region),
    row.allow === null ? null : jsonCell(row.allow),
    jsonCell(row.deny),
    row.leasesMax,
    row.stake.toString(),
    row.attestation === null ? null : jsonCell(row.attestation),
    row.lastHeartbeat,
    row.creditedAt,
    row.silentSteps,
    row.health,
    row.failures,
    row.cooldownUntil,
    jsonCell(row.classCooldowns),
    jsonCell(row.units),
    row.workers === null ? null : jsonCell(row.workers),
  ]
}

export function resultRow(c: Columns): ResultRow {
  return {
    jobId: c['job_id'] as JobId,
    leaseId: c['lease_id'] as LeaseId,
    providerId: c['provider_id'] as ProviderId,
    digest: c['digest'] as string,
    units: c['units'] as number,
    at: c['at'] as number,
    output: c['output'] === null ? null : rawOf(c['output']),
    meta: c['meta'] === null ? null : rawOf(c['meta']),
  }
}

export function resultParams(row: ResultRow, jobNo: number): SqlValue[] {
  const { providerId, units, at, output, meta } = row
  return [jobNo, bytesOf(row.leaseId), providerId, bytesOf(row.digest), units, at, output, meta]
}

export function roundRow(c: Columns): RoundRow {
  return {
    height: c['height'] as number,
    kind: c['kind'] as RoundRow['kind'],
    at: c['at'] as number,
    seed: c['seed'] as string,
    batchDigest: c['batch_digest'] as string,
    batchSize: c['batch_size'] as number,
    providers: jsonOf(c['providers']),
    assignments: jsonOf(c['assignments']),
  }
}

export function roundParams(row: RoundRow): SqlValue[] {
  const { height, kind, at, seed, batchDigest, batchSize, providers, assignments } = row
  const hashes = [bytesOf(seed), bytesOf(batchDigest)] as const
  return [height, kind, at, ...hashes, batchSize, jsonCell(providers), jsonCell(assignments)]
}

export function journalRow(c: Columns): JournalRow {
  const jobId = c['job_id'] as JobId | null
  return {
    seq: c['seq'] as number,
    at: c['at'] as number,
    actor: textOf(c['actor']),
    action: textOf(c['action']),
    subject: c['subject'] === null ? (jobId as string) : textOf(c['subject']),
    details: detailsOf(c['details']),
    prevHash: c['prev_hash'] as string,
    hash: c['hash'] as string,
    jobId,
  }
}

/** `before` is the hash of the entry with the number before this one, where that is known. */
export function journalParams(
  row: JournalRow,
  jobNo: number | null,
  before: string | null,
): SqlValue[] {
  return [
    row.seq,
    row.at,
    textCell(row.actor),
    textCell(row.action),
    row.subject === row.jobId ? null : textCell(row.subject),
    detailsCell(row.details),
    bytesOf(row.hash),
    row.prevHash === before ? null : bytesOf(row.prevHash),
    jobNo,
  ]
}

export function shareRow(c: Columns): ShareRow & { readonly finish: bigint } {
  return {
    kind: c['kind'] as ShareRow['kind'],
    caller: c['caller_id'] as Caller,
    finish: BigInt(c['finish'] as string),
  }
}

/** Where the journal stands; without an entry, at the start. */
export function headRow(c: Columns | undefined): AuditHead {
  return c === undefined ? EMPTY_AUDIT : { seq: c['seq'] as number, hash: c['hash'] as string }
}

export function assignmentRow(c: Columns): { readonly caller: Caller; readonly at: number } {
  return { caller: c['caller_id'] as Caller, at: c['t_start'] as number }
}

export function payloadRow(c: Columns): { readonly jobId: JobId; readonly payload: Uint8Array } {
  return { jobId: c['job_id'] as JobId, payload: payloadOf(c) }
}

export function payloadOf(c: Columns): Uint8Array {
  return rawOf(c['payload'])
}

export function metaRow(c: Columns): { readonly name: string; readonly value: string } {
  return { name: textOf(c['name']), value: textOf(c['value']) }
}

/** The number of an id, if there is a row. */
export function numberOf(c: Columns | undefined): number | null {
  return c === undefined ? null : (c['no'] as number)
}
