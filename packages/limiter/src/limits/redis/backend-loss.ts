import { invalidParams } from '@fairlead/core/limits'

/** What an instance does while Redis is away. */
export interface BackendLoss {
  /**
   * `deny` (default) allows nothing; `local` goes on with an equal share of each limit,
   * `floor(capacity / instances)`, less what this instance holds.
   */
  readonly onBackendLoss?: 'deny' | 'local'
  /** How many instances share the limits; needed for `local`. */
  readonly instances?: number
}

/** Among how many the limits are divided then; null: nothing is allowed. */
export function instancesOf({ onBackendLoss = 'deny', instances }: BackendLoss): number | null {
  if (onBackendLoss === 'deny') return null
  if (onBackendLoss !== 'local') throw invalidParams('onBackendLoss', 'deny or local')
  if (instances === undefined || !Number.isSafeInteger(instances) || instances < 1) {
    throw invalidParams('instances', 'how many share the limits, as local needs to know')
  }
  return instances
}
