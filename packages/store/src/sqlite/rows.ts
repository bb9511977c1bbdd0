import type {
  Caller,
  FailureRow,
  JobId,
  JobRow,
  LeaseId,
  LeaseRow,
  ProviderId,
  ResultRow,
  WorkerId,
} from '@fairlead/core'
import type {
  Brought,
  JobFacts,
  JobState,
  KeyedRow,
  LeaseFacts,
  LeaseState,
  ProviderRow,
  RoundRow,
  ShareRow,
} from '@fairlead/core/internal'
import type { CellWriter } from './cell-codec.ts'
import { jsonCell, jsonOf, listCell, listOf, rawOf, textCell, textOf } from './cells.ts'
import type { Columns } from './driver.ts'
import type { Block } from './journal-blocks.ts'

/**
 * The one place where a column becomes a field and a field a cell. For each table: its row out of the
 * columns, and the cells of the statement that writes it, in the order of that statement.
 */

/** Cells of a row in a batch, without what stands before them. */
export const WIDTH = {
  job: 16,
  jobState: 11,
  lease: 8,
  leaseState: 6,
  provider: 25,
  result: 10,
  failure: 4,
  share: 3,
  lane: 3,
  round: 11,
  meta: 2,
} as const

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
    tokens: c['tokens'] as number,
    regions: c['regions'] === null ? null : jsonOf(c['regions']),
    needs: c['needs'] === null ? null : jsonOf(c['needs']),
    ttlAbsSecs: c['ttl_abs_secs'] as number | null,
    enqueueTs: c['enqueue_ts'] as number,
    chainId: BigInt(c['chain_id'] as string),
    enqueueHeight: BigInt(c['enqueue_height'] as string),
    txHash: c['tx_hash'] as string,
    origin: c['origin'] === null ? null : jsonOf(c['origin']),
    status: c['status'] as JobRow['status'],
    providerId: c['provider_id'] as ProviderId | null,
    attempt: c['attempt'] as number | null,
    retries: c['retries'] as number,
    declines: c['declines'] as number,
    workerLosses: c['worker_losses'] as number,
    notBefore: c['not_before'] as number | null,
    firstAssignedAt: c['first_assigned_at'] as number | null,
    endedAt: c['ended_at'] as number | null,
    reason: c['reason'] as JobRow['reason'],
    proofAwaitedSince: c['proof_awaited_since'] as number | null,
    denials: listOf(c['denials']),
  }
}

/** The digits of a u64, kept for the next one: mostly it is the same. */
class LastDigits {
  #value = 0n
  #text = '0'

  text(value: bigint): string {
    if (value !== this.#value) {
      this.#value = value
      this.#text = value.toString()
    }
    return this.#text
  }
}

const heights = new LastDigits()
const fees = new LastDigits()
const chains = new LastDigits()

/** Behind number, id, caller and tx_hash. */
export function putJob(to: CellWriter, row: Omit<JobFacts, 'txHash'>): void {
  to.text(row.kind)
  to.text(heights.text(row.enqueueHeight))
  to.cell(textCell(row.tier))
  to.text(fees.text(row.fee))
  to.number(row.sizeBytes)
  to.cell(row.model === null ? null : textCell(row.model))
  to.number(row.shots)
  to.number(row.depthHint)
  to.number(row.units)
  to.number(row.tokens)
  to.cell(row.regions === null ? null : jsonCell(row.regions))
  to.cell(row.needs === null ? null : jsonCell(row.needs))
  to.cell(row.ttlAbsSecs)
  to.number(row.enqueueTs)
  to.text(chains.text(row.chainId))
  to.cell(row.origin === null ? null : jsonCell(row.origin))
}

/** Behind the status. */
export function putJobState(to: CellWriter, state: JobState): void {
  to.cell(state.providerId)
  to.cell(state.attempt)
  to.number(state.retries)
  to.number(state.declines)
  to.number(state.workerLosses)
  to.cell(state.notBefore)
  to.cell(state.firstAssignedAt)
  to.cell(state.endedAt)
  to.cell(state.reason)
  to.cell(state.proofAwaitedSince)
  to.cell(listCell(state.denials))
}

export function leaseRow(c: Columns): LeaseRow {
  return {
    id: c['id'] as LeaseId,
    jobId: c['job_id'] as JobId,
    jobSeq: c['job'] as number,
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
    renewalsMax: c['renewals_max'] as number | null,
    workerId: c['worker_id'] === null ? null : (textOf(c['worker_id']) as WorkerId),
  }
}

/** Behind job, attempt and id. */
export function putLease(to: CellWriter, row: LeaseFacts): void {
  to.text(row.providerId)
  to.number(row.tStart)
  to.number(row.epoch)
  to.number(row.round)
  to.number(row.lengthMs)
  to.number(row.renewAlpha)
  to.number(row.renewBeta)
  to.cell(row.renewalsMax)
}

/** Behind the status. */
export function putLeaseState(to: CellWriter, state: LeaseState): void {
  to.number(state.tDeadline)
  to.number(state.renewals)
  to.number(state.isAcked ? 1 : 0)
  if (state.digest === null) to.null()
  else to.id(state.digest)
  to.number(state.ackTimeoutMs)
  to.cell(state.workerId === null ? null : textCell(state.workerId))
}

export function providerRow(c: Columns): ProviderRow {
  return {
    id: c['id'] as ProviderId,
    status: c['status'] as ProviderRow['status'],
    capabilities: jsonOf(c['capabilities']),
    models: jsonOf(c['models']),
    platforms: jsonOf(c['platforms']),
    maxDepth: c['max_depth'] as number | null,
    maxShots: c['max_shots'] as number | null,
    maxWidth: c['max_width'] as number | null,
    gates: c['gates'] === null ? null : jsonOf(c['gates']),
    precision: c['precision'] === null ? null : jsonOf(c['precision']),
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

/** A provider is written with every batch that it has part in, and mostly with the very same lists. */
const offered = new WeakMap<readonly unknown[], string>()

function offeredCell(list: readonly unknown[]): string {
  const known = offered.get(list)
  if (known !== undefined) return known
  const cell = jsonCell(list)
  offered.set(list, cell)
  return cell
}

export function putProvider(to: CellWriter, row: ProviderRow): void {
  to.text(row.id)
  to.text(row.status)
  to.text(offeredCell(row.capabilities))
  to.text(offeredCell(row.models))
  to.text(offeredCell(row.platforms))
  to.cell(row.maxDepth)
  to.cell(row.maxShots)
  to.cell(row.maxWidth)
  to.cell(row.gates === null ? null : offeredCell(row.gates))
  to.cell(row.precision === null ? null : offeredCell(row.precision))
  to.cell(row.region === null ? null : textCell(row.region))
  to.cell(row.allow === null ? null : offeredCell(row.allow))
  to.text(offeredCell(row.deny))
  to.cell(row.leasesMax)
  to.text(row.stake.toString())
  to.cell(row.attestation === null ? null : jsonCell(row.attestation))
  to.number(row.lastHeartbeat)
  to.cell(row.creditedAt)
  to.number(row.silentSteps)
  to.number(row.health)
  to.number(row.failures)
  to.cell(row.cooldownUntil)
  to.text(jsonCell(row.classCooldowns))
  to.text(jsonCell(row.units))
  to.cell(row.workers === null ? null : offeredCell(row.workers))
}

export function resultRow(c: Columns): ResultRow {
  return {
    jobId: c['job_id'] as JobId,
    jobSeq: c['job'] as number,
    caller: c['caller_id'] as Caller | null,
    leaseId: c['lease_id'] as LeaseId,
    providerId: c['provider_id'] as ProviderId,
    digest: c['digest'] as string,
    units: c['units'] as number,
    at: c['at'] as number,
    ...broughtOf(c),
    contentType: c['content_type'] === null ? null : textOf(c['content_type']),
  }
}

/** The output and meta of a result. */
export function broughtOf(c: Columns): Brought {
  return {
    output: c['output'] === null ? null : rawOf(c['output']),
    meta: c['meta'] === null ? null : rawOf(c['meta']),
  }
}

/** Behind the number of the job. */
export function putResult(to: CellWriter, row: ResultRow): void {
  to.id(row.jobId)
  if (row.caller === null) to.null()
  else to.id(row.caller)
  to.id(row.leaseId)
  to.text(row.providerId)
  to.id(row.digest)
  to.number(row.units)
  to.number(row.at)
  to.cell(row.output)
  to.cell(row.contentType === null ? null : textCell(row.contentType))
  to.cell(row.meta)
}

export function failureRow(c: Columns): FailureRow {
  return {
    jobId: c['job_id'] as JobId,
    jobSeq: c['job'] as number,
    attempt: c['attempt'] as number,
    at: c['at'] as number,
    code: textOf(c['code']),
    message: c['message'] === null ? null : textOf(c['message']),
    details: c['details'] === null ? null : rawOf(c['details']),
  }
}

/** Behind job and attempt. */
export function putFailure(to: CellWriter, row: FailureRow): void {
  to.number(row.at)
  to.cell(textCell(row.code))
  to.cell(row.message === null ? null : textCell(row.message))
  to.cell(row.details)
}

export function roundRow(c: Columns): RoundRow {
  return {
    height: c['height'] as number,
    kind: c['kind'] as RoundRow['kind'],
    at: c['at'] as number,
    seed: c['seed'] as string,
    batchDigest: c['batch_digest'] as string,
    batchSize: c['batch_size'] as number,
    order: c['match_order'] as RoundRow['order'],
    providers: jsonOf(c['providers']),
    ranks: c['ranks'] === null ? null : jsonOf(c['ranks']),
    assignments: jsonOf(c['assignments']),
    refusals: jsonOf(c['refusals']),
  }
}

export function putRound(to: CellWriter, row: RoundRow): void {
  to.number(row.height)
  to.text(row.kind)
  to.number(row.at)
  to.id(row.seed)
  to.id(row.batchDigest)
  to.number(row.batchSize)
  to.text(row.order)
  to.text(jsonCell(row.providers))
  to.cell(row.ranks === null ? null : jsonCell(row.ranks))
  to.text(jsonCell(row.assignments))
  to.text(jsonCell(row.refusals))
}

/** A share that is to be forgotten has no finish time. */
export function putShare(to: CellWriter, { kind, caller, finish }: ShareRow): void {
  to.text(kind)
  to.id(caller)
  to.cell(finish === null ? null : finish.toString())
}

/** A key may be any text, so it is stored as its bytes. One that is to be forgotten has no value. */
export function putKeyedRow(to: CellWriter, { lane, key, value }: KeyedRow): void {
  to.text(lane)
  to.cell(Buffer.from(key, 'utf8'))
  to.cell(value)
}

export function putMeta(to: CellWriter, [name, value]: readonly [string, string]): void {
  to.cell(textCell(name))
  to.cell(textCell(value))
}

export function shareRow(c: Columns): ShareRow & { readonly finish: bigint } {
  return {
    kind: c['kind'] as ShareRow['kind'],
    caller: c['caller_id'] as Caller,
    finish: BigInt(c['finish'] as string),
  }
}

export function keyedRow(c: Columns): KeyedRow & { readonly value: Uint8Array } {
  return { lane: c['lane'] as string, key: textOf(c['key']), value: rawOf(c['value']) }
}

export function blockRow(c: Columns): Block {
  return { first: c['first'] as number, last: c['last'] as number, entries: rawOf(c['entries']) }
}

export function assignmentRow(c: Columns): { readonly caller: Caller; readonly at: number } {
  return { caller: c['caller_id'] as Caller, at: c['t_start'] as number }
}

/** The payload of a job, with the id of it. */
export function payloadRow(c: Columns): { readonly jobId: JobId; readonly payload: Uint8Array } {
  return { jobId: c['job_id'] as JobId, payload: payloadOf(c) }
}

export function payloadOf(c: Columns): Uint8Array {
  return rawOf(c['payload'])
}

export function metaRow(c: Columns): { readonly name: string; readonly value: string } {
  return { name: textOf(c['name']), value: textOf(c['value']) }
}
