import type { JobStatus, LeaseStatus } from '@fairlead/core'
import type { RowAt } from './batch-codec.ts'
import { ID_BYTES } from './key-hashes.ts'

/** A lease of which something waits for its table. */
export interface PendingLease {
  readonly attempt: number
  /** Where its id is. */
  readonly id: RowAt
  /** What never changes about it; null if that is in its table. */
  readonly facts: RowAt | null
  state: RowAt | null
  status: LeaseStatus
}

/** A job of which something waits for its table, with all that goes there together with it. */
export interface PendingJob {
  readonly seq: number
  /** The number of the batch with which it began to wait. */
  readonly batch: number
  /** Where its id is. */
  readonly id: RowAt
  /** What never changes about it, and its payload; null if that is in its table. */
  readonly facts: RowAt | null
  state: RowAt | null
  status: JobStatus
  /** Whether there are leases of it in the table. */
  readonly hasStoredLeases: boolean
  leases: readonly PendingLease[]
  result: RowAt | null
  /** In the order in which they were written, without those that a later one deletes or replaces. */
  failures: readonly RowAt[]
  /** Entries about it up to this number are in its row for certain; 0 where nobody asked. */
  readonly lastEntry: number
  /** The numbers of the new entries about it, each behind a blank. */
  entries: string
}

export function isSameId(a: RowAt, b: RowAt): boolean {
  return a.bytes.compare(b.bytes, b.at, b.at + ID_BYTES, a.at, a.at + ID_BYTES) === 0
}

/** An id as a key of a map. */
export function idKey({ bytes, at }: RowAt): string {
  return bytes.toString('latin1', at, at + ID_BYTES)
}

export function idBytes({ bytes, at }: RowAt): Uint8Array {
  return bytes.subarray(at, at + ID_BYTES)
}
