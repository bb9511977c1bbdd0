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
} from '@fairlead/core/internal'
import { isTimeZone } from '../records/date-text.ts'
import { isStatus } from './profile.ts'

const MS_MAX = 86_400_000

/** How registrations go to a platform: the budget of each of its organisations, pace and retries. */
// biome-ignore format: one setting a line, so that the table can be read as one
export const BUDGET_FIELDS = {
  maxConcurrency: int(2, { min: 1, max: 100_000 }, 'attempts in flight, for each organisation'),
  maxRps: thousandths(2_000, { min: 1, max: 100_000_000 }, 'attempts a second, for each organisation'),
  burst: int(4, { min: 1, max: 100_000 }, 'attempts at once after a pause'),
  minSpacingMs: int(50, { min: 0, max: 3_600_000 }, 'distance of the first attempts of a session'),
  timeZone: timeZone('where people are told the times of its sessions'),
  weights: intsByName({}, { min: 1, max: 1_000_000 }, 'shares of sessions in the budget of their organisation, by event_id'),
  retry: {
    windowMs: int(120_000, { min: 0, max: MS_MAX }, 'how long after the opening or the first attempt a retry may start'),
    backoffMs: list('whole numbers from 0 to 86400000', 'waits before the first, second … retry; the last one repeats', isWait),
    retryOnHttp: statuses('statuses below 500, and of 500, 502, 503 and 504, that are worth another try; null: 408, 429 and those four'),
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
    ...(given('retryOnHttp', 'retry') ? { retryOnHttp: retry.retryOnHttp } : {}),
    ...(given('timeZone') ? { timeZone: budget.timeZone } : {}),
  }
}

/** One table of what the codes of a platform mean: its taxonomy decides before its list (PROFILE-3). */
export function effectiveTaxonomy(
  taxonomy: ErrorTaxonomy,
  { failFastOnCodes }: Budget['retry'],
): ErrorTaxonomy {
  const listed = failFastOnCodes.map((code) => [code, 'permanent' as const])
  return { ...Object.fromEntries(listed), ...taxonomy }
}

type Written = Readonly<Record<string, unknown>>

function isWait(written: unknown): written is number {
  return Number.isInteger(written) && (written as number) >= 0 && (written as number) <= MS_MAX
}

function statuses(purpose: string): Field<readonly number[] | null> {
  return {
    default: null,
    expected: 'a list of statuses from 200 to 599, or null',
    purpose,
    read: (written) => {
      if (written === null) return null
      return Array.isArray(written) && written.every(isStatus) ? [...written] : undefined
    },
    show: (kept) => kept,
  }
}

function timeZone(purpose: string): Field<string> {
  return {
    default: 'UTC',
    expected: 'the name of a time zone, such as Europe/Berlin',
    purpose,
    read: (written) => (isTimeZone(written) ? written : undefined),
    show: (kept) => kept,
  }
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
