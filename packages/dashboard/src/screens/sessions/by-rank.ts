import type { RegistrationRecord } from '@fairlead/client'

export interface RankGroup {
  /** From 1, both ends included. */
  readonly from: number
  readonly to: number
  readonly people: number
  readonly booked: number
  readonly waitlisted: number
  readonly failed: number
  readonly pending: number
}

const GROUPS = 10

/** How it went by place in the line: at most ten groups of the same size. */
export function byRank(
  registrations: readonly Pick<RegistrationRecord, 'rank' | 'result'>[],
): RankGroup[] {
  const ranked = registrations.filter(({ rank }) => rank !== null)
  const last = Math.max(-1, ...ranked.map(({ rank }) => rank ?? 0))
  const size = Math.max(1, Math.ceil((last + 1) / GROUPS))
  const groups: RankGroup[] = []
  for (let from = 0; from <= last; from += size) {
    const own = ranked.filter(({ rank }) => (rank ?? 0) >= from && (rank ?? 0) < from + size)
    const count = (result: RegistrationRecord['result']): number =>
      own.filter((one) => one.result === result).length
    groups.push({
      from: from + 1,
      to: Math.min(from + size, last + 1),
      people: own.length,
      booked: count('booked'),
      waitlisted: count('waitlisted'),
      failed: count('failed'),
      pending: count('pending'),
    })
  }
  return groups
}
