import {
  type AuditEntry,
  type CborMap,
  decodeCbor,
  isPlainObject,
  jsonOf,
  type LeaseId,
  type Loggable,
  type ResultRow,
  redactor,
} from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import type { RegistrationRecord, ResultOf } from '@fairlead/protocol'
import { messageFor, type Names, type Receipt, receiptOf } from '@fairlead/signup/records'
import type { Registration } from './registrations.ts'

export interface Shown {
  readonly record: RegistrationRecord
  readonly timeline: ResultOf<'signup.audit'>['timeline']
}

/** Who tells people of their registrations. */
export interface Teller {
  readonly engine: Engine
  /** What the texts call whoever runs this server. */
  readonly serviceName: string
  /** And a booking site. */
  readonly platformName: (platform: string) => string
  /** Replaces an identifier that should ever stand in an entry; see `redactor`. */
  readonly pseudonymKey: Uint8Array
}

/**
 * A registration with its receipt, its text and its timeline. Null once the job has been deleted.
 * `isOwn`: whoever asks has scheduled it, and may see whom it is for.
 */
export async function registrationRecord(
  registration: Registration,
  isOwn: boolean,
  teller: Teller,
): Promise<Shown | null> {
  const { jobId, seq } = registration
  const { view } = teller.engine
  const [row, [payload], leases, entries, result] = await Promise.all([
    view.read.job(jobId),
    view.read.payloads([seq]),
    view.read.leases(jobId),
    view.read.timeline(jobId),
    view.read.result(jobId),
  ])
  if (row === null) return null
  const said = payload == null ? {} : (decodeCbor(payload) as CborMap)
  // Null once it was erased (AUDIT-10).
  const userId = (said['user_id'] as string | undefined) ?? null
  const assigned = entries.filter(({ action }) => action === 'jobAssigned')
  // Who looks whether it is booked sends nothing.
  const lookups = new Set(
    assigned.filter(({ details }) => details['task'] === 'lookup').map(leaseOf),
  )
  const rank = assigned.at(-1)?.details['rank'] ?? view.registration(jobId)?.rank ?? null
  const receipt = receiptOf({
    reference: registration.reference,
    job: { id: jobId, status: row.status, endedAt: row.endedAt },
    registration: { ...registration, scheduledTime: opensAt(registration, entries), userId },
    rank: rank as number | null,
    reason: row.reason,
    leases: leases
      .filter(({ id }) => !lookups.has(id))
      .map((lease) => ({ ...lease, sentAt: sentAt(lease.id, entries, result) })),
    output: result?.output ?? null,
    timeline: entries,
    redact: redactor(view.policy, teller.pseudonymKey),
  })
  return {
    record: {
      ...recordOf(receipt),
      status: row.status,
      user_id: isOwn ? userId : null,
      message: messageFor(receipt, namesOf(registration, said, teller)),
    },
    timeline: receipt.timeline.map(({ at, action, details }) => ({
      at,
      action,
      details: jsonOf(details as Loggable as CborMap) as Record<string, unknown>,
    })),
  }
}

/** When the first call of an attempt went out: so long after its ack as its worker measured (MESSAGE-3). */
function sentAt(
  leaseId: LeaseId,
  entries: readonly Pick<AuditEntry, 'action' | 'at' | 'details'>[],
  result: ResultRow | null,
): number | null {
  const own = entries.filter((entry) => leaseOf(entry) === leaseId)
  const acked = own.find(({ action }) => action === 'jobStarted')
  const meta = result?.leaseId === leaseId && result.meta !== null ? decodeCbor(result.meta) : null
  const told = isPlainObject(meta)
    ? meta['sent_after_ms']
    : own.find(({ action }) => action === 'leaseCancelled')?.details['sentAfterMs']
  if (acked === undefined || typeof told !== 'number' || !Number.isSafeInteger(told)) return null
  // No later than it was told of, whatever a worker says.
  const toldAt = own.at(-1)?.at ?? acked.at
  return Math.min(acked.at + Math.max(0, told), toldAt)
}

/** When its session opened: as it was asked for, or as an operator has said since (SESSION-9). */
function opensAt(
  { scheduledTime }: Registration,
  entries: readonly { readonly action: string; readonly details: CborMap }[],
): number {
  const moved = entries.findLast(({ action }) => action === 'jobRescheduled')
  return (moved?.details['opensAt'] as number | undefined) ?? scheduledTime
}

/** What texts call a session: the name that it was scheduled under, else its event. */
function namesOf(
  { platform, eventId }: Pick<Registration, 'platform' | 'eventId'>,
  payload: CborMap,
  { serviceName, platformName }: Teller,
): Names {
  const args = payload['args']
  const named = isPlainObject(args) ? args['program_name'] : undefined
  return {
    program: typeof named === 'string' ? named : eventId,
    provider: platformName(platform),
    service: serviceName,
  }
}

function recordOf(receipt: Receipt): Omit<RegistrationRecord, 'status' | 'user_id' | 'message'> {
  return {
    reference: receipt.reference,
    task_id: receipt.jobId,
    provider: receipt.platform,
    org_ref: receipt.orgRef,
    event_id: receipt.eventId,
    result: receipt.result,
    reason: receipt.reason,
    booking_number: receipt.bookingNumber,
    fee_status: receipt.feeStatus,
    rank: receipt.rank,
    opens_at: receipt.opensAt,
    queued_at: receipt.queuedAt,
    first_attempt_at: receipt.firstAttemptAt,
    first_attempt_delay_ms: receipt.firstAttemptDelayMs,
    ended_at: receipt.endedAt,
    attempts: receipt.attempts,
  }
}

function leaseOf({ details }: { readonly details: CborMap }): unknown {
  return details['leaseId']
}
