import type { Caller } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'

/** The scope of a dedupe key. */
export interface DedupeScope {
  readonly caller: Caller
  readonly kind: KindName
  readonly model: string | null
}

/** The live job that has this key; undefined if there is none (OPTIONS-7). */
export function duplicateOf(
  { dedupe, jobs }: Pick<Market, 'dedupe' | 'jobs'>,
  scope: DedupeScope,
  key: string | undefined,
): Job | undefined {
  if (key === undefined) return undefined
  const id = dedupe.get(dedupeName(scope, key))
  return id === undefined ? undefined : jobs.get(id)
}

/** The name under which a job with a dedupe key stands in the index of live ones. */
export function dedupeNameOf({ shape, options }: Job): string {
  return dedupeName(shape, options?.dedupeKey ?? '')
}

function dedupeName({ caller, kind, model }: DedupeScope, key: string): string {
  // The length shows where the name ends.
  const name = model === null ? '' : `${model.length}:${model}`
  return `${caller}${kind}:${name}:${key}`
}
