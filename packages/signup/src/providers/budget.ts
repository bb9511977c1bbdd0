import {
  type ErrorTaxonomy,
  type Field,
  int,
  intsByName,
  names,
  type PlatformPolicy,
  type SettingsOf,
  snakeCase,
  thousandths,
} from '@fairlead/core'
import { isStatus } from './profile.ts'

const MS_MAX = 86_400_000

/** How registrations go to a platform: the budget of each of its organisations, pace and retries. */
// biome-ignore format: one setting a line, so that the table can be read as one
export const BUDGET_FIELDS = {
  maxConcurrency: int(2, { min: 1, max: 100_000 }, 'attempts in flight, for each organisation'),
  maxRps: thousandths(2_000, { min: 1, max: 100_000_000 }, 'attempts a second, for each organisation'),
  burst: int(4, { min: 1, max: 100_000 }, 'attempts at once after a pause'),
  minSpacingMs: int(50, { min: 0, max: 3_600_000 }, 'distance of the first attempts of a session'),
  weights: intsByName({}, { min: 1, max: 1_000_000 }, 'shares of sessions in the budget of their organisation, by event_id'),
  retry: {
    windowMs: int(120_000, { min: 0, max: MS_MAX }, 'how long after the opening or the first attempt a retry may start'),
    backoffMs: list('whole numbers from 0 to 86400000', 'waits before the first, second … retry; the last one repeats', isWait),
    retryOnHttp: list('statuses from 200 to 599', 'statuses that are worth another try', isStatus),
    failFastOnCodes: names([], 'error codes that are not'),
  },
} as const

export type Budget = SettingsOf<typeof BUDGET_FIELDS>

/** Of the budget's fields those that were written, in the words of core's rules. */
export function givenPolicy(budget: Budget, written: unknown): Partial<PlatformPolicy> {
  const given = (key: string, group?: string): boolean => {
    const map = (group === undefined ? written : (written as Written)?.[group]) as
      | Written
      | undefined
    return map?.[snakeCase(key)] !== undefined
  }
  const { retry } = budget
  return {
    ...(given('maxConcurrency') ? { maxConcurrency: budget.maxConcurrency } : {}),
    ...(given('maxRps') ? { maxRpsMilli: budget.maxRps } : {}),
    ...(given('burst') ? { burst: budget.burst } : {}),
    ...(given('minSpacingMs') ? { minSpacingMs: budget.minSpacingMs } : {}),
    ...(given('weights') ? { weights: budget.weights } : {}),
    ...(given('windowMs', 'retry') ? { windowMs: retry.windowMs } : {}),
    ...(given('backoffMs', 'retry') ? { backoffMs: retry.backoffMs } : {}),
  }
}

/** Statuses of 400 and above that are retried unless a list says otherwise. */
const RETRIED_4XX = [408, 429]

/**
 * One table of what the errors of a platform mean: its taxonomy decides before its lists (PROFILE-3). A
 * list of statuses that leaves out 408 or 429 makes them an error like any other 4xx.
 */
export function effectiveTaxonomy(
  taxonomy: ErrorTaxonomy,
  { retryOnHttp, failFastOnCodes }: Budget['retry'],
): ErrorTaxonomy {
  const dropped = retryOnHttp.length === 0 ? [] : RETRIED_4XX
  return {
    ...Object.fromEntries(dropped.map((status) => [status, 'permanent' as const])),
    ...Object.fromEntries(retryOnHttp.map((status) => [status, 'transient' as const])),
    ...Object.fromEntries(failFastOnCodes.map((code) => [code, 'permanent' as const])),
    ...taxonomy,
  }
}

type Written = Readonly<Record<string, unknown>>

function isWait(written: unknown): written is number {
  return Number.isInteger(written) && (written as number) >= 0 && (written as number) <= MS_MAX
}

/** The built-in list holds where none is written. */
function list(
  expected: string,
  purpose: string,
  is: (written: unknown) => written is number,
): Field<readonly number[]> {
  return {
    default: [],
    expected: `a list of ${expected} that is not empty`,
    purpose,
    read: (written) =>
      Array.isArray(written) && written.length > 0 && written.every(is) ? [...written] : undefined,
    show: (kept) => kept,
  }
}
