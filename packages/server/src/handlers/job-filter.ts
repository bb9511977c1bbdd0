import { sha3Hex } from '@fairlead/core'
import type { BulkFilter } from '@fairlead/engine'
import type { CheckedParamsOf } from '@fairlead/protocol'

/** The filter of a list of jobs, and of an operation on many, in the words of the engine. */
export function filterOf(params: CheckedParamsOf<'aicf.cancelJobs'>['filter']): BulkFilter {
  const { status, kind, provider_id, caller, after_height, name, task_id_prefix } = params
  const { tag, idempotency_key, dedupe_key, schedule, error, since, until, wait_reason } = params
  return {
    ...(status === undefined ? {} : { status }),
    ...(kind === undefined ? {} : { kind }),
    ...(name === undefined ? {} : { model: name }),
    ...(task_id_prefix === undefined ? {} : { idPrefix: task_id_prefix }),
    ...(tag === undefined ? {} : { tag }),
    ...(idempotency_key === undefined ? {} : { txHash: sha3Hex(Buffer.from(idempotency_key)) }),
    ...(dedupe_key === undefined ? {} : { dedupeKey: dedupe_key }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(wait_reason === undefined ? {} : { waitReason: wait_reason }),
    ...(error === undefined ? {} : { error }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(provider_id === undefined ? {} : { providerId: provider_id }),
    ...(caller === undefined ? {} : { caller }),
    ...(after_height === undefined ? {} : { afterHeight: BigInt(after_height) }),
  }
}
