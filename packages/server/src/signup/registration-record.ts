import {
  type AuditEntry,
  type CborMap,
  decodeCbor,
  type LeaseId,
  type ResultRow,
} from '@fairlead/core'
import {
  isPlainObject,
  jsonOf,
  type Loggable,
  platformPolicy,
  redactor,
} from '@fairlead/core/internal'
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
      .map((lease) => ({ ...lease, ...sending(lease.id, entries, result) })),
    output: result?.output ?? null,
    timeline: entries,
    redact: redactor(view.policy, teller.pseudonymKey),
  })
  return {
    record: {
      ...recordOf(receipt),
      status: row.status,
      user_id: isOwn ? userId : null,
      is_readable: !isMarked(said) && !isMarked(result?.output ?? null),
      booking_number: isOwn ? receipt.bookingNumber : null,
      message: messageFor(receipt, namesOf(registration, said, teller)),
    },
    timeline: receipt.timeline.map(({ at, action, details }) => ({
      at,
      action,
      details: jsonOf(details as Loggable as CborMap) as Record<string, unknown>,
    })),
  }
}

/**
 * When the first call of an attempt went out: so long after its ack as its worker measured. One that its worker
 * reported without that time and without an answer of the site was not sent (MESSAGE-3).
 */
function sending(
  leaseId: LeaseId,
  entries: readonly Pick<AuditEntry, 'action' | 'at' | 'details'>[],
  result: ResultRow | null,
): { readonly sentAt: number | null; readonly ackedAt: number | null; readonly isUnsent: boolean } {
  const own = entries.filter((entry) => leaseOf(entry) === leaseId)
  const ackedAt = own.find(({ action }) => action === 'jobStarted')?.at ?? null
  const report = own.find(({ action }) => action === 'leaseCancelled')?.details
  const meta = result?.leaseId === leaseId && result.meta !== null ? decodeCbor(result.meta) : null
  const told = isPlainObject(meta) ? meta['sent_after_ms'] : report?.['sentAfterMs']
  if (ackedAt === null || typeof told !== 'number' || !Number.isSafeInteger(told)) {
    const isReported = report?.['code'] !== undefined
    return { sentAt: null, ackedAt, isUnsent: isReported && report?.['http'] === undefined }
  }
  // No later than it was told of, for any word of a worker.
  const toldAt = own.at(-1)?.at ?? ackedAt
  return { sentAt: Math.min(ackedAt + Math.max(0, told), toldAt), ackedAt, isUnsent: false }
}

/** Whether the store could not open it: its key is missing, or the row is damaged (FILES-4). */
function isMarked(said: CborMap | Uint8Array | null): boolean {
  const map = said instanceof Uint8Array ? decodeCbor(said) : said
  return isPlainObject(map) && map['unreadable'] === true
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
  { engine, serviceName, platformName }: Teller,
): Names {
  const args = payload['args']
  const named = isPlainObject(args) ? args['program_name'] : undefined
  return {
    program: typeof named === 'string' ? named : eventId,
    provider: platformName(platform),
    service: serviceName,
    timeZone: platformPolicy(platform, engine.view.policy.sessions.platforms).timeZone,
  }
}

function recordOf(
  receipt: Receipt,
): Omit<RegistrationRecord, 'status' | 'user_id' | 'is_readable' | 'booking_number' | 'message'> {
  return {
    reference: receipt.reference,
    task_id: receipt.jobId,
    provider: receipt.platform,
    org_ref: receipt.orgRef,
    event_id: receipt.eventId,
    result: receipt.result,
    reason: receipt.reason,
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
