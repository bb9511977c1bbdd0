import { broken } from '../../violation.ts'
import { isGone, type LeaseEntry, lostAt } from '../book.ts'
import { keptCode } from '../rules/own-rules.ts'
import type { Details, Hearsay } from './journal-reader.ts'
import type { Moment } from './moment.ts'

/** Leases that the holder itself ends, as the journal calls it. */
const BY_HOLDER = new Set(['declined', 'released', 'provider_fail'])

/** The ack, in time and once. */
export function jobStarted(moment: Moment, details: Details): void {
  const lease = moment.liveLease(details['leaseId'])
  moment.refuseLate(lease)
  if (moment.actor !== lease.provider.id)
    broken('answer', `${moment.actor} acked lease ${lease.id}`)
  if (lease.acked) broken('transition', `lease ${lease.id} was acked twice`)
  lease.acked = true
  const { timeoutMs } = lease.job.facts.options ?? {}
  if (timeoutMs !== undefined) lease.timeoutAt = moment.at + timeoutMs
  lease.job.status = 'RUNNING'
  moment.jobs.add(lease.job)
}

/** LEASE-4, LEASE-5, LEASE-10. */
export function leaseRenewed(moment: Moment, details: Details): void {
  const lease = moment.liveLease(details['leaseId'])
  moment.refuseLate(lease)
  if (!lease.acked) broken('transition', `lease ${lease.id} was renewed without an ack`)
  if (lease.deadline - moment.at > lease.lengthMs)
    broken('deadline', `lease ${lease.id} was renewed early`)
  lease.renewals++
  if (lease.renewals > (lease.renewalsMax ?? Number.POSITIVE_INFINITY))
    broken('deadline', `lease ${lease.id} was renewed too often`)
  lease.deadline += (lease.lengthMs / 1_000) * lease.beta
  lease.status = 'RENEWED'
  if (details['deadline'] === lease.deadline) return
  broken(
    'deadline',
    `lease ${lease.id} ends at ${String(details['deadline'])}, not ${lease.deadline}`,
  )
}

/** Ended otherwise than by its deadline or a completion; what its job does comes next. */
export function leaseCancelled(moment: Moment, details: Details, hearsay: Hearsay): void {
  const lease = moment.liveLease(details['leaseId'])
  const reason = details['reason'] as string
  checkReason(moment, lease, reason)
  const code = failed(moment, lease, reason, hearsay)
  if (details['code'] !== code) {
    broken('failure-kept', `lease ${lease.id} failed with ${String(details['code'])}, not ${code}`)
  }
  const losses = lease.job.workerLosses
  moment.endLease(lease, 'CANCELLED', 0)
  moment.ended = { lease, reason, losses }
}

/** Notes a failure; the code is what the journal has of it, where its worker said something. */
function failed(
  moment: Moment,
  lease: LeaseEntry,
  reason: string,
  hearsay: Hearsay,
): string | undefined {
  if (reason === 'ack_timeout') {
    moment.failAttempt(lease, { code: 'ack_timeout', words: 'engine' })
  }
  if (isLoss(lease, reason)) moment.failAttempt(lease, { code: 'worker_lost', words: 'engine' })
  if (reason !== 'provider_fail') return undefined
  if (lease.job.facts.kind === 'registration') {
    const said = hearsay.said(lease.id)
    const code = moment.book.sessions.keptCode(lease.job, said?.code ?? '')
    moment.failAttempt(lease, { code, words: 'none' })
    return code
  }
  const words = hearsay.failure(lease.id)
  const code = keptCode(words.code)
  moment.failAttempt(lease, { code, words })
  return code
}

/** The job may be what killed the worker. A registration's session knows better (WORKER-16). */
export function isLoss({ acked, job }: LeaseEntry, reason: string): boolean {
  const isGoneOrDisowned = reason === 'worker_lost' || reason === 'disowned'
  return isGoneOrDisowned && acked && job.facts.kind !== 'registration'
}

function checkReason(moment: Moment, lease: LeaseEntry, reason: string): void {
  const { id, provider } = lease
  if (BY_HOLDER.has(reason)) {
    // WORKER-12: what could not be brought to its worker is given back for it.
    const isUnbrought = reason === 'released' && moment.actor === 'engine' && !lease.acked
    if (moment.actor !== provider.id && !isUnbrought)
      broken('answer', `${moment.actor} ended lease ${id}`)
    moment.refuseLate(lease)
  }
  if (reason === 'ack_timeout') {
    if (lease.acked) broken('deadline', `lease ${id} was acked and is cancelled for no ack`)
    moment.refuseOffTime(lease.ackBy, `the ack timeout of ${id}`)
  }
  if (reason === 'worker_lost') {
    moment.refuseOffTime(lostAt(lease, moment.book.policy), `the loss of the worker of ${id}`)
  }
  if (reason === 'disowned' && isGone(lease)) {
    broken('transition', `lease ${id} was disowned by a worker that is not there`)
  }
  if (reason === 'provider_status' && provider.status === 'ACTIVE') {
    broken('transition', `lease ${id} of an ACTIVE provider was taken back`)
  }
  if (reason !== 'over_cap') return
  for (const other of provider.live) {
    if (isNewer(other, lease)) broken('lease-cap', `lease ${id} went before the newer ${other.id}`)
  }
}

/** LEASE-13: `t_start DESC, lease_id DESC`. */
function isNewer(a: LeaseEntry, b: LeaseEntry): boolean {
  return a.tStart !== b.tStart ? a.tStart > b.tStart : a.id > b.id
}

/** COMPLETE-2: its job goes on RUNNING. A completion implies the ack (STATE-9). */
export function awaitProof(moment: Moment, lease: LeaseEntry, units: number): void {
  moment.endLease(lease, 'COMPLETED', units)
  lease.job.status = 'RUNNING'
}
