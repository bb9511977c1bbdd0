import {
  type CborMap,
  decodeCbor,
  hasEnded,
  type JobId,
  type JobOptions,
  type JobRow,
} from '@fairlead/core'
import { type BulkAction, isErased, isUnreadable, showBackoff } from '@fairlead/core/internal'

/** True if a run of this kind may touch the job; a retry also needs its payload (BULK-3). */
export function isEligible(action: BulkAction, row: JobRow): boolean {
  if (action === 'cancel') return !hasEnded(row.status)
  return isRetryable(row)
}

/** True if a job may be taken up again, as far as its row tells. */
export function isRetryable(row: JobRow): boolean {
  if (row.status === 'COMPLETED' || !hasEnded(row.status)) return false
  return row.kind !== 'registration' || row.reason !== 'outcome_unknown'
}

/** The request of a job that takes up another, in the form of the API; null if its payload is gone. */
export function retryRequest(
  row: JobRow,
  payload: Uint8Array | null,
  key: string,
  dependsOn: readonly JobId[] = [],
): Readonly<Record<string, unknown>> | null {
  if (payload === null || isErased(payload) || isUnreadable(payload)) return null
  const { kind, fee, regions, needs, ttlAbsSecs } = row
  return {
    kind,
    payload: decodeCbor(payload) as CborMap,
    max_fee_u64: fee,
    regions,
    ttl_abs_secs: ttlAbsSecs,
    ...(needs?.precision == null ? {} : { precision: needs.precision }),
    ...(kind === 'quantum' && needs !== null
      ? { width_hint: needs.widthHint, gates: needs.gates }
      : {}),
    ...(row.options === null ? {} : optionFields(row.options, dependsOn)),
    idempotency_key: key,
  }
}

/** `dependsOn` stands for its dependencies: they have ended, and a job that takes one of them up has another id. */
function optionFields(
  options: JobOptions,
  dependsOn: readonly JobId[],
): Readonly<Record<string, unknown>> {
  const { runAt, attempts, backoff, timeoutMs, priority, tags, dedupeKey, onDependency } = options
  return {
    ...(dependsOn.length === 0 ? {} : { depends_on: dependsOn, on_dependency: onDependency }),
    run_at: runAt,
    attempts,
    backoff: backoff && showBackoff(backoff),
    timeout_ms: timeoutMs,
    priority,
    tags,
    dedupe_key: dedupeKey,
  }
}
