import { FairleadError } from '../errors.ts'

export const JOB_STATUSES = [
  'QUEUED',
  'ASSIGNED',
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'EXPIRED',
  'CANCELED',
] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** All events of a job. */
export const JOB_EVENTS = [
  'match',
  'ack',
  'ackTimeout',
  'leaseDeadline',
  'decline',
  'giveBack',
  'providerFail',
  'complete',
  'awaitProof',
  'proofValid',
  'proofInvalid',
  'ttl',
  'cancel',
  'attemptsOver',
] as const
export type JobEvent = (typeof JOB_EVENTS)[number]

/** The status after an event, and the status after it if it was the job's last chance. */
interface Move {
  readonly to: JobStatus
  readonly last?: JobStatus
}
type Moves = { readonly [From in JobStatus]: { readonly [On in JobEvent]?: Move } }

/** `attemptsOver`: the session of a registration has no attempt left for it (ATTEMPT-2, ATTEMPT-4). */
const ends = {
  ttl: { to: 'EXPIRED' },
  cancel: { to: 'CANCELED' },
  attemptsOver: { to: 'FAILED' },
} as const

/** The events that end an attempt, acked or not. A completion implies the ack. */
const attempt = {
  leaseDeadline: { to: 'QUEUED', last: 'EXPIRED' },
  decline: { to: 'QUEUED', last: 'FAILED' },
  giveBack: { to: 'QUEUED', last: 'FAILED' },
  providerFail: { to: 'QUEUED', last: 'FAILED' },
  complete: { to: 'COMPLETED' },
  awaitProof: { to: 'RUNNING' },
} as const

/** Every move that a job can make; all others are refused (STATE-1). */
export const JOB_TABLE: Moves = {
  QUEUED: { match: { to: 'ASSIGNED' }, ...ends },
  ASSIGNED: {
    ack: { to: 'RUNNING' },
    ackTimeout: { to: 'QUEUED', last: 'EXPIRED' },
    ...attempt,
    ...ends,
  },
  RUNNING: {
    ...attempt,
    proofValid: { to: 'COMPLETED' },
    proofInvalid: { to: 'QUEUED', last: 'FAILED' },
    ...ends,
  },
  COMPLETED: {},
  FAILED: {},
  EXPIRED: {},
  CANCELED: {},
}

/** The status that an event leads to, or null if the table has no such move. */
export function nextJobStatus(from: JobStatus, on: JobEvent, isLast = false): JobStatus | null {
  const move = JOB_TABLE[from][on]
  if (move === undefined) return null
  return isLast ? (move.last ?? null) : move.to
}

/** An ended job never changes again (STATE-2). */
export function hasEnded(status: JobStatus): boolean {
  return ENDED.has(status)
}

const ENDED = new Set(JOB_STATUSES.filter((status) => Object.keys(JOB_TABLE[status]).length === 0))

export function invalidJobMove(jobId: string, from: JobStatus, on: JobEvent): FairleadError {
  const can = Object.keys(JOB_TABLE[from])
  const hint =
    can.length === 0 ? 'it has ended and never changes again' : `possible: ${can.join(', ')}`
  return new FairleadError(
    'InvalidState',
    `job ${jobId} is ${from}, ${on} is not possible; ${hint}`,
    {
      jobId,
      status: from,
    },
  )
}
