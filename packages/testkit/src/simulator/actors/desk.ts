import {
  type Caller,
  type ErrorCode,
  FairleadError,
  type JobId,
  type JobRow,
  type LeaseFailure,
  type LeaseId,
  type LeaseProgress,
  type LeaseResult,
  type LeaseSession,
  type LeaseTimes,
  type Preset,
  type ProviderId,
  type WorkerId,
} from '@fairlead/core'
import { isErased, type JobNeeds } from '@fairlead/core/internal'
import { firstDifference } from '../checks/first-difference.ts'
import type { Said } from '../ledger/rules/own-attempts.ts'
import { hasEndedStatus, isLiveStatus, unitsOf } from '../ledger/rules/own-rules.ts'
import type { SimDisk } from '../store/sim-disk.ts'
import { broken } from '../violation.ts'
import type { Session } from '../world/session.ts'
import type { JobEnd } from './booking-sites.ts'
import { type FailureWords, failureWords } from './failure-words.ts'

/** An order as a caller places it. */
export interface Order {
  readonly caller: Caller
  readonly tier: string
  readonly key: string | null
  readonly request: Readonly<Record<string, unknown>>
  /** Not acceptable: it must be refused. */
  readonly isOdd: boolean
  /** It comes from an operator, who may name any time for a registration. */
  readonly isOperator?: boolean
}

export type LeaseVerb = 'ack' | 'renew' | 'progress' | 'decline' | 'release' | 'complete' | 'fail'

/** A call about a lease as a worker makes it. */
export interface LeaseCall {
  readonly verb: LeaseVerb
  readonly leaseId: LeaseId
  readonly by: ProviderId
  /** The process that calls; null does not say. */
  readonly workerId: WorkerId | null
  readonly digest: string
  readonly actualUnits: number | null
  readonly code: string
  readonly permanent: boolean
  readonly message?: string
  readonly details?: Uint8Array
  readonly retryAfterMs?: number
  /** For a completion. */
  readonly output?: Uint8Array
  readonly contentType?: string
  /** For a report. */
  readonly percent?: number
  readonly log?: readonly string[]
  /** Of a registration: what its platform answered, and what is known of it. */
  readonly http?: number
  readonly isUnknown?: boolean
  readonly isUnsent?: boolean
  readonly lookup?: 'booked' | 'not_booked' | 'failed'
  /** Its parameters are wrong: it must be refused. */
  readonly isOdd: boolean
}

export type Answer = 'ok' | ErrorCode

const JOBS_FAULTS = new Set([
  'invalid_input',
  'validation_error',
  'sold_out',
  'not_found',
  'auth_error',
])

/** What the desk has to know of registrations to judge an answer. */
export interface Signups {
  said(leaseId: LeaseId): Said | null
  checkEnd(end: JobEnd): void
  /** The time is not that of the session, or in the past. */
  mayRefuse(order: Order): boolean
  /** The user has a place in the session. */
  mayConflict(order: Order): boolean
  /** The cancel of a registration is noted, or came to another end than CANCELED. */
  isCancelKnown(row: JobRow): boolean
  /** It has a claim, or had one when it was asked for. */
  mayBeClaimed(jobId: JobId): boolean
}

/**
 * Hands the calls of the actors to the engine and looks at every answer when it comes: what it says must
 * be durable at that very moment, and right.
 */
export class Desk {
  readonly #disk: SimDisk
  readonly #caught: (error: unknown) => void
  readonly #signups: Signups
  #session: Session | null = null
  /** Jobs that their callers know to be accepted. */
  readonly #receipts = new Map<JobId, Order>()
  readonly #jobOfKey = new Map<string, JobId>()
  /** What was asked for under a key: payloads, and requests with all around them. */
  readonly #payloadsOfKey = new Map<string, Set<string>>()
  readonly #requestsOfKey = new Map<string, Set<string>>()
  readonly #jobsFault = new Set<LeaseId>()
  /** Calls on live leases without an answer yet. */
  #onLive = new Set<LeaseCall>()
  /** Enqueues without an answer yet. */
  #enqueues = 0
  /** Changes of policy without an answer yet. They need facts of the tables, and all others wait with them. */
  #policies = 0
  /** Calls so far, those without an answer yet, and answers so far. */
  calls = 0
  open = 0
  activity = 0

  constructor(disk: SimDisk, signups: Signups, caught: (error: unknown) => void) {
    this.#disk = disk
    this.#signups = signups
    this.#caught = caught
  }

  /** From now on calls go to this engine; what the one before has not answered stays unanswered. */
  connect(session: Session): void {
    this.#session = session
    this.open = 0
    this.#onLive = new Set()
    this.#policies = 0
    this.#enqueues = 0
  }

  /** An enqueue waits for its answer. */
  get isHeldBack(): boolean {
    return this.#enqueues > 0
  }

  /** Tables that take nothing keep nobody from working: only enqueues and reads wait for them (PROJECT-3). */
  checkPrompt(): void {
    if (this.#policies > 0) return
    for (const { verb, leaseId } of this.#onLive) {
      const status = this.#disk.leases.get(leaseId)?.status
      if (status !== undefined && isLiveStatus(status))
        broken('back-pressure', `${verb} of the live lease ${leaseId} waits for the tables`)
    }
  }

  said(leaseId: LeaseId): Said | null {
    return this.#signups.said(leaseId)
  }

  checkEnd(end: JobEnd): void {
    this.#signups.checkEnd(end)
  }

  isJobsFault(leaseId: LeaseId): boolean {
    return this.#jobsFault.has(leaseId)
  }

  failure(leaseId: LeaseId): FailureWords {
    return failureWords(leaseId)
  }

  receipts(): readonly JobId[] {
    return [...this.#receipts.keys()]
  }

  enqueue(order: Order, then: (answer: Answer, jobId: JobId | null) => void): void {
    const { caller, tier, key, request, isOperator = false } = order
    const name = `${caller}|${key}`
    if (key !== null) {
      addTo(this.#payloadsOfKey, name, JSON.stringify([request['kind'], request['payload']]))
      addTo(this.#requestsOfKey, name, JSON.stringify(request))
    }
    this.#enqueues++
    let sentAt = 0
    const sent = key === null ? request : { ...request, idempotency_key: key }
    this.#send(
      (engine) => {
        sentAt = engine.view.now
        return engine.accept(sent, { caller, tier, isOperator })
      },
      (answer, reply) => {
        const jobId = reply?.jobId ?? null
        this.#enqueues--
        if (order.isOdd && answer === 'ok')
          broken('answer', `an odd request was accepted as ${jobId}`)
        if (answer === 'InvalidParams' || answer === 'LimitExceeded') {
          if (!order.isOdd && !this.#signups.mayRefuse(order))
            broken('answer', `a sound request was refused with ${answer}`)
        }
        const isKeyFresh = key === null || this.#payloadsOfKey.get(name)?.size === 1
        if (answer === 'IdempotencyConflict' && isKeyFresh && !this.#signups.mayConflict(order)) {
          broken('idempotency', `key ${key} was refused, and it never had another payload`)
        }
        if (reply?.isDuplicate === true) this.#checkDuplicate(order, reply.jobId, sentAt)
        else if (answer === 'ok' && jobId !== null) this.#checkReceipt(order, jobId)
        then(answer, jobId)
      },
    )
  }

  cancel(jobId: JobId, by: Caller | 'operator', then: (answer: Answer) => void): void {
    this.#send(
      (engine) => engine.cancel(jobId, by),
      (answer) => {
        const row = this.#disk.jobs.get(jobId)
        const isOwn = by === 'operator' || row?.caller === by
        // What hung long enough may be deleted by the batch that brings it.
        const isStored =
          row === undefined
            ? this.#disk.everStored.has(jobId)
            : row.status === 'CANCELED' || this.#signups.isCancelKnown(row)
        if (answer === 'ok' && !isStored) broken('durable', `job ${jobId} is not CANCELED yet`)
        const isFree = row !== undefined && !hasEndedStatus(row.status)
        if (answer === 'InvalidState' && isFree && !this.#signups.mayBeClaimed(jobId)) {
          broken('answer', `job ${jobId} is ${row.status}, and could not be cancelled`)
        }
        if (answer === 'Forbidden' && isOwn)
          broken('answer', `${by} may not cancel its own job ${jobId}`)
        if (answer === 'ok' && row !== undefined && !isOwn)
          broken('answer', `${by} has cancelled another's job ${jobId}`)
        if (answer === 'NotFound' && row !== undefined)
          broken('job-lost', `job ${jobId} is stored and not found`)
        then(answer)
      },
    )
  }

  /** Through the worker's own connection, or beside it. */
  onLease(call: LeaseCall, session: LeaseSession | null, then: (answer: Answer) => void): void {
    const { verb, leaseId, code, permanent } = call
    if (verb === 'fail' && permanent && JOBS_FAULTS.has(code)) this.#jobsFault.add(leaseId)
    const status = this.#disk.leases.get(leaseId)?.status
    const onLive = this.#onLive
    if (status !== undefined && isLiveStatus(status)) onLive.add(call)
    this.#send<unknown>(
      (engine) => (session === null ? callBeside(engine, call) : callThrough(session, call)),
      (answer, reply) => {
        onLive.delete(call)
        if (answer === 'ok') this.#checkDone(call, reply)
        else this.#checkRefusal(call, answer)
        then(answer)
      },
    )
  }

  /** Any other call, of which no more than the answer is of interest. */
  send(
    make: (engine: Session['engine']) => Promise<unknown>,
    then: (answer: Answer) => void,
  ): void {
    this.#send(make, then)
  }

  /** A call that looks something up first: an engine that closes meanwhile refuses it. */
  sendInSteps<Reply>(
    make: (engine: Session['engine']) => Promise<Reply>,
    then: (answer: Answer, reply: Reply | null) => void,
  ): void {
    this.#send(make, then, ({ isClosing }) => (isClosing ? 1 : 0))
  }

  setPolicy(written: Readonly<Record<string, unknown>>, preset: Preset): void {
    this.#policies++
    this.#send(
      (engine) => engine.setPolicy(written, preset),
      () => {
        this.#policies--
      },
      // One with a longer window does not wait forever for tables that hang (KEYS-4).
      ({ store }) => store.tables.hangs,
    )
  }

  /** A question, with what is answered. */
  read<Reply>(
    make: (engine: Session['engine']) => Promise<Reply>,
    then: (answer: Answer, reply: Reply | null) => void,
  ): void {
    this.#send(make, then)
  }

  #send<Reply>(
    make: (engine: Session['engine']) => Promise<Reply>,
    answered: (answer: Answer, reply: Reply | null) => void,
    excuses: (session: Session) => number = () => 0,
  ): void {
    const session = this.#session
    if (session === null) return
    const excusesBefore = excuses(session)
    const faultsBefore = session.store.faults
    const { isTroubled: wasTroubled, isBehind: wasBehind } = session.store
    const hear = (answer: Answer, reply: Reply | null): void => {
      // Of an engine that is gone nobody hears anything.
      if (session !== this.#session) return
      this.open--
      this.activity++
      try {
        answered(answer, reply)
      } catch (error) {
        this.#caught(error)
      }
    }
    this.calls++
    this.open++
    make(session.engine).then(
      (reply) => hear('ok', reply),
      (error: unknown) => {
        if (!(error instanceof FairleadError) || error.code === 'Internal')
          return this.#caught(error)
        const isFault = error.code === 'StoreUnavailable'
        const isTrouble =
          wasTroubled ||
          session.store.faults > faultsBefore ||
          excuses(session) > (wasBehind ? 0 : excusesBefore)
        if (isFault && !isTrouble && !session.isOver) {
          this.#caught(new Error(`${error.message}, and the store had no fault`))
        }
        hear(error.code, null)
      },
    )
  }

  /** It has the key, and was alive when it was asked for. */
  #checkDuplicate({ caller, request }: Order, jobId: JobId, sentAt: number): void {
    const row = this.#disk.jobs.get(jobId)
    if (row === undefined) {
      if (this.#disk.everStored.has(jobId)) return
      broken('durable', `job ${jobId} is said to be the duplicate, and is not stored`)
    }
    const payload = request['payload'] as Readonly<Record<string, unknown>>
    const isAlike =
      row.caller === caller &&
      row.kind === request['kind'] &&
      row.model === (payload['model'] ?? payload['name'] ?? null) &&
      row.options?.dedupeKey === request['dedupe_key']
    if (!isAlike) broken('dedupe', `job ${jobId} is said to be the duplicate of another`)
    if (row.endedAt !== null && row.endedAt < sentAt)
      broken('dedupe', `job ${jobId} is said to be a live duplicate, and had ended`)
  }

  #checkReceipt(order: Order, jobId: JobId): void {
    const row = this.#disk.jobs.get(jobId)
    if (row === undefined) {
      // The same key again may be answered for the last time before its job is deleted.
      if (!this.#disk.everStored.has(jobId))
        broken('durable', `job ${jobId} was accepted and is not stored`)
      return
    }
    const isKnown = this.#receipts.has(jobId)
    const name = `${order.caller}|${order.key}`
    // Where there were several, the first counts, and its answer may have been lost.
    const isOnly = order.key === null || this.#requestsOfKey.get(name)?.size === 1
    if (!isKnown && isOnly) this.#checkFacts(order, row)
    this.#receipts.set(jobId, order)
    if (order.key === null) return
    const before = this.#jobOfKey.get(name)
    if (before !== undefined && before !== jobId && this.#disk.jobs.has(before)) {
      broken('idempotency', `key ${order.key} gave job ${before} and then ${jobId}`)
    }
    this.#jobOfKey.set(name, jobId)
  }

  /** A job is what was asked for. */
  #checkFacts({ caller, tier, request }: Order, row: JobRow): void {
    const payload = request['payload'] as Readonly<Record<string, unknown>>
    const number = (name: string): number => Number(payload[name] ?? 0)
    const kind = request['kind'] as JobRow['kind']
    const prompt = (payload['prompt'] ?? '0x') as string
    const promptBytes = (prompt.length - 2) / 2
    const wanted = {
      kind,
      maxTokens: number('max_tokens'),
      shots: number('shots'),
      depthHint: number('depth_hint'),
    }
    const isRight =
      row.caller === caller &&
      row.tier === tier &&
      row.kind === kind &&
      row.model === (payload['model'] ?? payload['name'] ?? payload['provider'] ?? null) &&
      row.fee === BigInt(Number(request['max_fee_u64'] ?? 0)) &&
      row.units === unitsOf(wanted) &&
      row.tokens === (kind === 'ai' ? promptBytes + wanted.maxTokens : 0) &&
      row.ttlAbsSecs === (request['ttl_abs_secs'] ?? null) &&
      firstDifference(row.needs, needsOf(request)) === null &&
      this.#isWhole(row)
    if (!isRight) broken('rows', `job ${row.id} is stored as something else than was asked for`)
  }

  /** What was erased of it is not there to be counted any more. */
  #isWhole({ id, sizeBytes }: JobRow): boolean {
    const payload = this.#disk.payloads.get(id)
    return payload !== undefined && (payload.length === sizeBytes || isErased(payload))
  }

  #checkDone(call: LeaseCall, reply: unknown): void {
    const { verb, leaseId, by, workerId, digest, isOdd } = call
    if (isOdd) broken('answer', `an odd ${verb} was taken`)
    const row = this.#disk.leases.get(leaseId)
    if (row === undefined) {
      // What hung long enough may be deleted by the batch that brings it.
      if (this.#disk.everIssued.has(leaseId)) return
      broken('durable', `${verb} was answered, and lease ${leaseId} is not stored`)
    }
    if (row.providerId !== by) broken('answer', `${verb} by ${by} on a lease of ${row.providerId}`)
    if (workerId !== null && row.workerId !== workerId) {
      broken('answer', `${verb} by ${workerId} on a lease of ${row.workerId}`)
    }
    const { status, isAcked } = row
    if (verb === 'complete' && status === 'COMPLETED' && row.digest !== digest) {
      broken('answer', `lease ${leaseId} is completed, and another digest was taken all the same`)
    }
    if (verb === 'complete') this.#checkResult(call, row.jobId)
    const isDone =
      verb === 'ack' || verb === 'progress'
        ? isAcked
        : verb === 'renew'
          ? isAcked && row.tDeadline >= (reply as LeaseTimes).deadline
          : verb === 'complete'
            ? status === 'COMPLETED'
            : // A lookup may have found a booking.
              status === 'CANCELLED' || (verb === 'fail' && call.lookup === 'booked')
    if (!isDone)
      broken('durable', `${verb} was answered, and lease ${leaseId} is stored as ${status}`)
  }

  /** The output is kept as it came, with what it is (ENGINE-8). */
  #checkResult({ leaseId, digest, output, contentType }: LeaseCall, jobId: JobId): void {
    const result = this.#disk.results.get(jobId)
    if (result === undefined || result.leaseId !== leaseId || result.digest !== digest) return
    const payload = this.#disk.payloads.get(jobId)
    // An answer that waited for long may come after people were erased.
    if (payload !== undefined && isErased(payload)) return
    if (firstDifference(result.output, output ?? null) !== null)
      broken('result-kept', `the result of ${jobId} has another output`)
    if (result.contentType !== (contentType ?? null))
      broken('result-kept', `the result of ${jobId} is kept as ${result.contentType}`)
  }

  #checkRefusal(call: LeaseCall, answer: Answer): void {
    const { verb, leaseId, by, workerId, digest } = call
    const row = this.#disk.leases.get(leaseId)
    const isOwn = row?.providerId === by && (workerId === null || row.workerId === workerId)
    const isOver = row === undefined || (isOwn && !isLiveStatus(row.status))
    const isRepeat = verb === 'complete' && row?.status === 'COMPLETED' && row.digest === digest
    const isRight: Partial<Record<Answer, boolean>> = {
      StoreUnavailable: true,
      NotFound: row === undefined,
      // It may have been moved to the caller since.
      Forbidden: !isOwn || this.#disk.everMoved.has(leaseId),
      LeaseNotLive: isOver && !isRepeat,
      RenewalsExhausted:
        verb === 'renew' && (row?.renewals ?? 0) >= (row?.renewalsMax ?? Number.POSITIVE_INFINITY),
      InvalidState: verb === 'renew',
      InvalidParams: call.isOdd,
      RateLimited: verb === 'progress',
    }
    if (isRight[answer] === true) return
    broken('answer', `${verb} was refused with ${answer}, lease ${leaseId} is ${row?.status}`)
  }
}

function callThrough(session: LeaseSession, call: LeaseCall): Promise<unknown> {
  const { verb, leaseId } = call
  if (verb === 'complete') return session.complete(leaseId, resultOf(call))
  if (verb === 'fail') return session.fail(leaseId, failureOf(call))
  if (verb === 'progress') return session.progress(leaseId, reportOf(call))
  return session[verb](leaseId)
}

function callBeside(engine: Session['engine'], call: LeaseCall): Promise<unknown> {
  const { verb, leaseId, by, workerId } = call
  const holder = { leaseId, by, ...(workerId === null ? {} : { workerId }) }
  if (verb === 'complete') return engine.complete({ ...holder, ...resultOf(call) })
  if (verb === 'fail') return engine.fail({ ...holder, ...failureOf(call) })
  if (verb === 'progress') return engine.progress.report({ ...holder, ...reportOf(call) })
  return engine[verb](holder)
}

function reportOf({ percent, message, log }: LeaseCall): LeaseProgress {
  return {
    ...(percent === undefined ? {} : { percent }),
    ...(message === undefined ? {} : { message }),
    ...(log === undefined ? {} : { log }),
  }
}

function failureOf(call: LeaseCall): LeaseFailure {
  const { code, permanent, message, details } = call
  const { http, retryAfterMs, isUnknown, isUnsent, lookup } = call
  return {
    code,
    permanent,
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details }),
    ...(http === undefined ? {} : { http }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(isUnknown === undefined ? {} : { isUnknown }),
    ...(isUnsent === undefined ? {} : { isUnsent }),
    ...(lookup === undefined ? {} : { lookup }),
  }
}

/** What is not said must be left out. */
function resultOf({ digest, output, contentType, actualUnits }: LeaseCall): LeaseResult {
  return {
    digest,
    ...(output === undefined ? {} : { output }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(actualUnits === null ? {} : { actualUnits }),
  }
}

/** As a request asks for it; null where it asks for nothing. */
function needsOf(request: Order['request']): JobNeeds | null {
  const { precision, width_hint: width, gates } = request
  if (precision === undefined && width === undefined && gates === undefined) return null
  const sorted = (names: unknown): readonly string[] | null =>
    names === undefined
      ? null
      : [...(typeof names === 'string' ? [names] : (names as string[]))].sort()
  return {
    precision: sorted(precision),
    widthHint: (width as number | undefined) ?? 0,
    gates: sorted(gates),
  }
}

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, new Set([value]))
  else known.add(value)
}
