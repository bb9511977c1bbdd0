import { JOB_STATUSES, KIND_NAMES, WAIT_REASONS } from '@fairlead/core'
import type { ParamsOf } from '@fairlead/protocol'
import { oneOfWords, pastTime } from './flags.ts'
import type { JobFilterFlags } from './job-filter-options.ts'

/** Relative times count back from `nowMs`. */
export function jobFilterOf(
  flags: JobFilterFlags,
  nowMs: number,
): ParamsOf<'aicf.cancelJobs'>['filter'] {
  const { status, kind, name, provider, caller, tag, key, dedupeKey, error, since, until } = flags
  const { schedule, waitReason } = flags
  return {
    ...(status === undefined ? {} : { status: oneOfWords('--status', status, JOB_STATUSES) }),
    ...(kind === undefined ? {} : { kind: oneOfWords('--kind', kind, KIND_NAMES) }),
    ...(name === undefined ? {} : { name }),
    ...(provider === undefined ? {} : { provider_id: provider }),
    ...(caller === undefined ? {} : { caller }),
    ...(tag === undefined ? {} : { tag }),
    ...(key === undefined ? {} : { idempotency_key: key }),
    ...(dedupeKey === undefined ? {} : { dedupe_key: dedupeKey }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(waitReason === undefined
      ? {}
      : { wait_reason: oneOfWords('--wait-reason', waitReason, WAIT_REASONS) }),
    ...(error === undefined ? {} : { error }),
    ...(since === undefined ? {} : { since: pastTime('--since', since, nowMs) }),
    ...(until === undefined ? {} : { until: pastTime('--until', until, nowMs) }),
  }
}
