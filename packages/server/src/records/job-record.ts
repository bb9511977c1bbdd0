import {
  type AuditEntry,
  decodeCbor,
  type FailureRow,
  type JobOptions,
  type JobRow,
  type LeaseRow,
  type ResultRow,
  toHex,
} from '@fairlead/core'
import { jsonOf, showBackoff, showU64 } from '@fairlead/core/internal'
import {
  type AttemptErrorRecord,
  type JobOptionsRecord,
  type JobRecord,
  type JobSummary,
  PayloadView,
  type ResultRecord,
} from '@fairlead/protocol'
import { provedFields } from './claim-record.ts'
import { leaseRecord } from './lease-record.ts'

/** A job as lists have it. */
export function jobSummary(row: JobRow): JobSummary {
  return {
    ...stateOf(row),
    request: requestOf(row),
    timestamps: {
      enqueued: secs(row.enqueueTs),
      assigned: secsOr(row.firstAssignedAt),
      ...endsOf(row),
    },
  }
}

/** A job with all that belongs to it. */
export function jobRecord(given: {
  readonly row: JobRow
  readonly payload: Uint8Array
  readonly lease: LeaseRow | null
  readonly timeline: readonly AuditEntry[]
  readonly failures: readonly FailureRow[]
  readonly waitReason: JobRecord['wait_reason']
  readonly progress: JobRecord['progress']
}): JobRecord {
  const { row, payload, lease, timeline, failures, waitReason } = given
  const view = new PayloadView(payload) as unknown as JobRecord['request']['payload']
  return {
    ...stateOf(row),
    wait_reason: waitReason,
    progress: given.progress,
    request: { ...requestOf(row), payload: view },
    timestamps: {
      enqueued: secs(row.enqueueTs),
      assigned: secsOr(lease?.tStart ?? row.firstAssignedAt),
      started: secsOr(startedAt(row, lease, timeline)),
      ...endsOf(row),
    },
    lease: lease === null ? null : leaseRecord(lease),
    last_error: lastErrorOf(failures),
    errors: failures.map(errorRecord),
  }
}

/** Why an attempt failed, as the wire has it. */
export function errorRecord(row: FailureRow): AttemptErrorRecord {
  const { attempt, at, code, message, details } = row
  return { attempt, at, code, message, details: detailsOf(details) }
}

export function detailsOf(details: Uint8Array | null): unknown {
  return details === null ? null : jsonOf(decodeCbor(details))
}

function lastErrorOf(failures: readonly FailureRow[]): JobRecord['last_error'] {
  const last = failures.at(-1)
  if (last === undefined) return null
  const { code, message, attempt, at } = last
  return { code, message, attempt, at }
}

/** A completion implies the ack: without one of its own, the attempt counts as started then (STATE-9). */
function startedAt(
  { endedAt }: JobRow,
  lease: LeaseRow | null,
  timeline: readonly AuditEntry[],
): number | null {
  const acked = timeline.findLast(
    ({ action, details }) =>
      action === 'jobStarted' && (lease === null || details['leaseId'] === lease.id),
  )
  if (acked !== undefined) return acked.at
  return lease?.status === 'COMPLETED' ? endedAt : null
}

/** `kind` is null once the job has been deleted. */
export function resultRecord(row: ResultRow, kind: JobRow['kind'] | null): ResultRecord {
  const { claim } = row
  return {
    schema_version: 0,
    task_id: row.jobId,
    kind,
    provider_id: row.providerId,
    lease_id: row.leaseId,
    output_digest: row.digest,
    output: row.output === null ? null : toHex(row.output),
    content_type: row.contentType,
    meta: row.meta === null ? null : jsonOf(decodeCbor(row.meta)),
    ...(claim === null
      ? { units: row.units, qos: null, proof_refs: [], finalized_height: null }
      : provedFields(claim)),
    completed_at: secs(row.at),
  }
}

function stateOf(row: JobRow) {
  return {
    schema_version: 0 as const,
    task_id: row.id,
    kind: row.kind,
    name: row.model,
    status: row.status,
    reason: row.reason,
    provider_id: row.providerId,
    attempt: row.attempt,
    retries: row.retries,
    declines: row.declines,
    units: row.units,
    not_before: row.notBefore,
  }
}

function requestOf(row: JobRow) {
  return {
    caller: row.caller,
    max_fee_u64: showU64(row.fee),
    tier: row.tier,
    regions: copied(row.regions),
    precision: copied(row.needs?.precision ?? null),
    width_hint: row.needs?.widthHint ?? 0,
    gates: copied(row.needs?.gates ?? null),
    ttl_abs_secs: row.ttlAbsSecs,
    tx_hash: row.origin?.txHash ?? row.txHash,
    chain_id: showU64(row.chainId),
    enqueue_block: showU64(row.enqueueHeight),
    retry_of: row.origin?.retryOf ?? null,
    traceparent: row.origin?.traceparent ?? null,
    options: row.options === null ? null : optionsRecord(row.options),
    schedule: row.origin?.schedule ?? null,
    scheduled_at: row.origin?.scheduledAt ?? null,
  }
}

/** An option that was not given is left out. */
function optionsRecord(options: JobOptions): JobOptionsRecord {
  const { runAt, attempts, backoff, timeoutMs, priority, tags } = options
  const { dedupeKey, dependsOn, onDependency } = options
  return {
    ...(runAt === undefined ? {} : { run_at: runAt }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(backoff === undefined ? {} : { backoff: showBackoff(backoff) }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(priority === undefined ? {} : { priority }),
    ...(tags === undefined ? {} : { tags: [...tags] }),
    ...(dedupeKey === undefined ? {} : { dedupe_key: dedupeKey }),
    ...(dependsOn === undefined ? {} : { depends_on: [...dependsOn] }),
    ...(onDependency === undefined ? {} : { on_dependency: onDependency }),
  }
}

function copied(list: readonly string[] | null): string[] | null {
  return list === null ? null : [...list]
}

function endsOf({ status, endedAt }: JobRow) {
  const at = (ended: JobRow['status']) => (status === ended ? secsOr(endedAt) : null)
  return {
    completed: at('COMPLETED'),
    failed: at('FAILED'),
    expired: at('EXPIRED'),
    canceled: at('CANCELED'),
  }
}

/** Job records have seconds, with the milliseconds as a fraction. */
function secs(ms: number): number {
  return ms / 1_000
}

function secsOr(ms: number | null): number | null {
  return ms === null ? null : secs(ms)
}
