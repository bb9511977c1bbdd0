import type { BulkFilter } from '@fairlead/client'
import type { JobStatus } from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import { kindOf } from './plain-data.ts'
import { refuseUnknown } from './refuse-unknown.ts'
import { timeOf } from './time.ts'

/** Which jobs; fields are joined by "and". */
export interface JobFilter<Name extends string = string> {
  readonly name?: Name
  readonly status?: JobStatus
  readonly tag?: string
  readonly key?: string
  readonly dedupeKey?: string
  /** The code of the last failed attempt. */
  readonly error?: string
  /** Enqueued at this time or later. */
  readonly since?: Date | number
  /** Enqueued before this time. */
  readonly until?: Date | number
}

/** The filter in the words of the wire, for tasks. */
export function wireFilter(filter: JobFilter): BulkFilter {
  checkFilter(filter)
  refuseUnknown('fields', filter, FILTER_NAMES)
  const { name, status, tag, key, dedupeKey, error, since, until } = filter
  return {
    kind: 'task',
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
    ...(tag === undefined ? {} : { tag }),
    ...(key === undefined ? {} : { idempotency_key: key }),
    ...(dedupeKey === undefined ? {} : { dedupe_key: dedupeKey }),
    ...(error === undefined ? {} : { error }),
    ...(since === undefined ? {} : { since: timeOf('since', since) }),
    ...(until === undefined ? {} : { until: timeOf('until', until) }),
  }
}

export function checkFilter(filter: unknown): void {
  if (typeof filter === 'object' && filter !== null) return
  throw invalidParams('filter', 'an object, such as { name: "email" }', kindOf(filter))
}

/** Without a field it would be every job there is. */
export function refuseAll(filter: JobFilter | undefined): void {
  if (Object.values(filter ?? {}).some((value) => value !== undefined)) return
  throw invalidParams('filter', `at least one of ${FILTER_NAMES.join(', ')}`)
}

const FILTER_NAMES: readonly (keyof JobFilter)[] = [
  'name',
  'status',
  'tag',
  'key',
  'dedupeKey',
  'error',
  'since',
  'until',
]
