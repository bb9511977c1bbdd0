import type { Caller, JobId, LeaseId, LeaseRow, WorkerId } from '@fairlead/core'
import type { RoundRow } from '@fairlead/core/internal'
import { broken } from '../../violation.ts'
import { addUnits, isReady, type JobEntry, type LeaseEntry, type ProviderEntry } from '../book.ts'
import { misfit } from '../rules/fits.ts'
import { noteGiven } from '../rules/limit-spans.ts'
import { epochAt, leaseMs } from '../rules/own-rules.ts'
import type { FairBound } from '../rules/shares.ts'
import type { BatchFacts, Details } from './journal-reader.ts'
import type { Moment } from './moment.ts'
import { RoundOrder } from './round-order.ts'
import { checkWorker } from './worker-entries.ts'

/** Follows the rounds of a batch, one assignment after the other, and books each that is right. */
export class Assignments {
  readonly #moment: Moment
  readonly #bound: FairBound | null
  #leases: ReadonlyMap<LeaseId, LeaseRow> = new Map()
  #rounds: readonly RoundRow[] = []
  #next = 0
  #place = 0
  #order: Pick<RoundOrder, 'isOver' | 'assign'> | null = null

  constructor(moment: Moment, bound: FairBound | null) {
    this.#moment = moment
    this.#bound = bound
  }

  begin({ rounds, leases }: BatchFacts): void {
    this.#rounds = rounds
    this.#leases = leases
    this.#next = 0
    this.#order = null
  }

  end(): void {
    const isThrough = this.#order === null || this.#order.isOver
    if (this.#next < this.#rounds.length || !isThrough) {
      broken('rows', 'a round is stored with assignments that the journal does not tell of')
    }
  }

  assign(details: Details): void {
    const { at, book } = this.#moment
    const job = this.#moment.job(details['jobId'])
    const provider = this.#moment.provider(details['providerId'])
    const { id } = job.facts
    if (job.lease !== null) broken('one-live-lease', `job ${id} is assigned while a lease is live`)
    this.#refuseUnready(job)
    if (!isReady(job, at))
      broken('backoff', `job ${id} is assigned while ${job.status} until ${job.notBefore}`)
    if (book.paused.holds(job.facts)) broken('paused', `job ${id} is assigned and paused`)
    const round = this.#roundOf(id, provider)
    this.#order?.assign(job)
    const refusal = misfit(book, provider, job, at)
    if (refusal !== null)
      broken(refusal.invariant, `job ${id} went to ${provider.id}, but ${refusal.why}`)
    this.#bound?.assigned(job.facts, this.#waiting(round), book.policy)
    const leaseId = details['leaseId'] as LeaseId
    if (job.facts.kind === 'registration') {
      const all = [...book.providers.values()]
      const fits = (one: JobEntry) => all.some((other) => misfit(book, other, one, at) === null)
      book.sessions.send(job, { leaseId, at, details, fits, round: round.height })
    }
    const lease = this.#newLease(job, provider, round, leaseId)
    if (details['deadline'] !== lease.deadline) {
      broken(
        'deadline',
        `lease ${lease.id} ends at ${String(details['deadline'])}, not ${lease.deadline}`,
      )
    }
    this.#book(lease)
  }

  /** OPTIONS-2, OPTIONS-8. */
  #refuseUnready({ facts, waitsFor, isBroken }: JobEntry): void {
    const { id, options } = facts
    const runAt = options?.runAt ?? 0
    if (runAt > this.#moment.at) broken('scheduled', `job ${id} is assigned before ${runAt}`)
    if (waitsFor.size > 0 || isBroken) {
      broken('dependencies', `job ${id} is assigned, and waits for ${waitsFor.size} jobs`)
    }
  }

  /** The stored round that has this assignment in its place. */
  #roundOf(jobId: JobId, provider: ProviderEntry): RoundRow {
    const { book } = this.#moment
    if (this.#order === null || this.#order.isOver) {
      const row = this.#rounds[this.#next++]
      if (row === undefined)
        broken('rows', `job ${jobId} was assigned by a round that is not stored`)
      // The kinds of one round share its height.
      if (row.height !== book.rounds && row.height !== book.rounds - 1) {
        broken('rows', `round ${row.height} is stored, ${book.rounds} is due`)
      }
      book.rounds = row.height + 1
      this.#order = row.kind === 'registration' ? new SendOrder(row) : new RoundOrder(book, row)
      this.#place = 0
    }
    const row = this.#rounds[this.#next - 1] as RoundRow
    const pair = row.assignments[this.#place++]
    if (pair?.[0] !== jobId || pair[1] !== provider.id) {
      broken('rows', `round ${row.height} does not have job ${jobId} in its place`)
    }
    return row
  }

  #waiting({ kind }: RoundRow): ReadonlySet<Caller> {
    const { at, book } = this.#moment
    return new Set(book.ready(kind, at).map(({ facts }) => facts.caller))
  }

  #newLease(job: JobEntry, provider: ProviderEntry, round: RoundRow, id: LeaseId): LeaseEntry {
    const { at, book } = this.#moment
    const { lease: terms, ackTimeoutMs } = book.policy.queue
    if (book.leases.has(id)) broken('one-live-lease', `lease ${id} was issued twice`)
    const lengthMs = leaseMs(job.facts.kind, book.policy)
    return {
      id,
      job,
      provider,
      attempt: job.attempt === null ? 0 : job.attempt + 1,
      tStart: at,
      epoch: epochAt(at, book.policy),
      round: round.height,
      lengthMs,
      workerId: this.#workerOf(id, provider),
      beta: terms.renewBeta,
      renewalsMax: terms.renewalsMax,
      ackBy: at + ackTimeoutMs,
      deadline: at + lengthMs,
      timeoutAt: Number.POSITIVE_INFINITY,
      gaps: 0,
      renewals: 0,
      acked: false,
      status: 'ACTIVE',
      digest: null,
    }
  }

  /** The journal does not tell which worker; whoever it was, it must have had a slot. */
  #workerOf(id: LeaseId, provider: ProviderEntry): WorkerId | null {
    const workerId = this.#leases.get(id)?.workerId ?? null
    if (provider.row.workers !== null) checkWorker(provider, workerId, id)
    return workerId
  }

  #book(lease: LeaseEntry): void {
    const { at, book, shares, leases } = this.#moment
    const { job, provider } = lease
    const { kind, caller, units } = job.facts
    job.status = 'ASSIGNED'
    job.attempt = lease.attempt
    job.notBefore = null
    job.firstAssignedAt ??= at
    job.lease = lease
    job.lastProvider = provider.id
    book.leases.set(lease.id, lease)
    book.live.add(lease)
    provider.live.add(lease)
    leases.add(lease)
    addUnits(provider, kind, lease.epoch, units)
    const times = book.assignedAt.get(caller)
    if (times === undefined) book.assignedAt.set(caller, [at])
    else times.push(at)
    noteGiven(book, job, at)
    // Registrations have turns of their own.
    if (kind === 'registration') return
    book.grants.set(kind, (book.grants.get(kind) ?? 0) + 1)
    if (book.policy.match.fairness === 'tenant') shares.book(job.facts, book.policy)
  }
}

/** The round of registrations: whose turn it was, their sessions know. */
class SendOrder {
  readonly #round: RoundRow
  #made = 0

  constructor(round: RoundRow) {
    this.#round = round
  }

  get isOver(): boolean {
    return this.#made === this.#round.assignments.length
  }

  assign(): void {
    this.#made++
  }
}
