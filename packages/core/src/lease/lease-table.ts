export const LEASE_STATUSES = ['ACTIVE', 'RENEWED', 'COMPLETED', 'CANCELLED', 'EXPIRED'] as const
export type LeaseStatus = (typeof LEASE_STATUSES)[number]

export const LEASE_EVENTS = ['renew', 'complete', 'cancel', 'deadline'] as const
export type LeaseEvent = (typeof LEASE_EVENTS)[number]

type Moves = { readonly [From in LeaseStatus]: { readonly [On in LeaseEvent]?: LeaseStatus } }

/** Every move that a lease can make; all others are refused (STATE-3). */
// biome-ignore format: a table
export const LEASE_TABLE: Moves = {
  ACTIVE:    { renew: 'RENEWED', complete: 'COMPLETED', cancel: 'CANCELLED', deadline: 'EXPIRED' },
  RENEWED:   { renew: 'RENEWED', complete: 'COMPLETED', cancel: 'CANCELLED', deadline: 'EXPIRED' },
  COMPLETED: {},
  CANCELLED: {},
  EXPIRED:   {},
}

export function nextLeaseStatus(from: LeaseStatus, on: LeaseEvent): LeaseStatus | null {
  return LEASE_TABLE[from][on] ?? null
}

/** A live lease is a right to run; a job has at most one (STATE-4). */
export function isLive(status: LeaseStatus): boolean {
  return status === 'ACTIVE' || status === 'RENEWED'
}
