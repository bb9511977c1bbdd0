import {
  AttemptFailure,
  Completion,
  type Job,
  type Worker as LeaseWorker,
  worker as leaseWorker,
  steadyClock,
  type WorkerOptions,
} from '@fairlead/client'
import {
  type Clock,
  idempotencyKey,
  type JobId,
  type LeaseFailure,
  type LeaseSource,
} from '@fairlead/core'
import type { Adapter, HttpCall, SignupJob } from '../adapter/adapter.ts'
import type { ProviderConfig, Providers } from '../providers/providers.ts'
import type { ProvidersFile } from '../providers/providers-file.ts'
import { bookingNumberOf } from '../records/booking-number.ts'
import {
  encodeOutput,
  type FeeStatus,
  type RegistrationOutput,
} from '../records/registration-output.ts'
import { type ClockOffset, ClockOffsets } from './clock-offset.ts'
import { exchange } from './exchange.ts'
import { type AttemptResult, Executor } from './executor.ts'

/** Takes the success fee. Called at least once for each booking, always with the same key for one. */
export type Charge = (fee: Fee) => Promise<void>

/** What a fee is for. */
export interface Fee {
  readonly jobId: JobId
  readonly platform: string
  readonly orgRef: string
  readonly userId: string
  readonly bookingNumber: string | null
  /** A second call with this key must not charge again. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/** What happened, without personal data. */
export type SignupEvent =
  | {
      readonly type: 'attemptEnded'
      readonly jobId: JobId
      readonly platform: string
      readonly attempt: number
      readonly rank: number | null
      /** `booked`, `waitlisted`, or the code of the failure. */
      readonly result: string
      readonly http: number | null
      /** When the call that can book went out, on the wall clock; null if none did. */
      readonly sentAt: number | null
      readonly tookMs: number
    }
  /** Somebody has to see to it: the booking stands, its fee was not taken. */
  | { readonly type: 'feeFailed'; readonly jobId: JobId; readonly platform: string }
  | {
      readonly type: 'platformsChanged'
      readonly platforms: readonly string[]
    }

export interface SignupWorkerOptions {
  readonly source: LeaseSource
  readonly providerId: string
  /** With a file, what changes in it counts from the next attempt on. */
  readonly providers: Providers | ProvidersFile
  /** Platforms that need code of their own, by name; they go before what is configured. */
  readonly adapters?: Readonly<Record<string, Adapter>>
  /** Attempts at once, at most; 16 where it is left out. Budgets are the engine's. */
  readonly concurrency?: number
  readonly charge?: Charge
  /** How long a charge may take before it counts as failed; 5,000 where it is left out. */
  readonly chargeTimeoutMs?: number
  readonly onEvent?: (event: SignupEvent) => void
  readonly onError?: WorkerOptions['onError']
  readonly onConnected?: WorkerOptions['onConnected']
  readonly onNotice?: WorkerOptions['onNotice']
  readonly workerId?: string
  readonly clock?: Clock
  readonly wallClock?: () => number
}

export interface SignupWorker {
  /** By how much the clocks of the platforms differ from ours. Nothing is decided by it. */
  clockOffsets(): Readonly<Record<string, ClockOffset>>
  /** As that of any worker: gives back what has not begun, and waits for the rest. */
  stop(options?: { readonly graceMs?: number }): Promise<void>
  readonly closed: Promise<void>
}

type RegistrationJob = Job<'registration'>

/** Serves registrations: for each lease one attempt at its platform, after the ack was answered (EXECUTE-1). */
export function signupWorker(options: SignupWorkerOptions): SignupWorker {
  return new Signups(options)
}

const CHARGE_TIMEOUT_MS = 5_000

class Signups implements SignupWorker {
  readonly closed: Promise<void>
  readonly #options: SignupWorkerOptions
  readonly #clock: Clock
  readonly #offsets = new ClockOffsets()
  readonly #executor: Executor
  /** When each offer was looked at: right before its ack. */
  readonly #offeredAt = new WeakMap<object, number>()
  readonly #stopWatching: () => void
  #worker: LeaseWorker
  #platforms: readonly string[]
  #closedResolvers: { resolve: () => void; reject: (error: unknown) => void } = {
    resolve: () => {},
    reject: () => {},
  }

  constructor(options: SignupWorkerOptions) {
    this.#options = options
    this.#clock = options.clock ?? steadyClock
    this.closed = new Promise((resolve, reject) => {
      this.#closedResolvers = { resolve, reject }
    })
    this.#executor = new Executor({
      clock: this.#clock,
      wallClock: options.wallClock ?? Date.now,
      offsets: this.#offsets,
      onError: (error) => this.#note(error),
    })
    this.#platforms = this.#served()
    this.#worker = this.#start(options.workerId)
    const { providers } = options
    this.#stopWatching =
      'onChange' in providers ? providers.onChange(() => this.#changed()) : () => {}
  }

  clockOffsets(): Readonly<Record<string, ClockOffset>> {
    return this.#offsets.all()
  }

  stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stopWatching()
    void this.#worker.stop(options)
    return this.closed
  }

  get #providers(): Providers {
    const { providers } = this.#options
    return 'current' in providers ? providers.current : providers
  }

  #adapterOf(platform: string): Adapter | null {
    const { adapters = {} } = this.#options
    const own = Object.hasOwn(adapters, platform) ? adapters[platform] : undefined
    return own ?? this.#providers.get(platform).adapter
  }

  /** The platforms that something is known of and that can be spoken to. */
  #served(): readonly string[] {
    const { adapters = {} } = this.#options
    const names = new Set([...this.#providers.platforms, ...Object.keys(adapters)])
    return [...names].filter((name) => this.#adapterOf(name) !== null).sort()
  }

  #start(workerId: string | undefined): LeaseWorker {
    const { source, providerId, concurrency = 16, onConnected, onNotice } = this.#options
    const started = leaseWorker({
      source,
      providerId,
      ...(workerId === undefined ? {} : { workerId }),
      kinds: ['registration'],
      platforms: this.#platforms,
      concurrency,
      accepts: (job) => {
        this.#offeredAt.set(job, this.#clock.now())
        return this.#adapterOf(job.payload.provider) !== null
      },
      handler: (job) => this.#serve(job),
      // The outcome of an attempt is no error of the worker; it is told as an event.
      onError: (error, job) => {
        if (!(error instanceof AttemptFailure)) this.#note(error, job)
      },
      ...(onConnected === undefined ? {} : { onConnected }),
      ...(onNotice === undefined ? {} : { onNotice }),
      clock: this.#clock,
    })
    started.closed.then(
      () => started === this.#worker && this.#closedResolvers.resolve(),
      (error: unknown) => started === this.#worker && this.#closedResolvers.reject(error),
    )
    return started
  }

  /** What a worker offers is said when it connects: other platforms, another worker; the old one drains. */
  #changed(): void {
    const platforms = this.#served()
    if (platforms.join('\n') === this.#platforms.join('\n')) return
    this.#platforms = platforms
    const old = this.#worker
    this.#worker = this.#start(undefined)
    old.stop().catch((error: unknown) => this.#note(error))
    this.#tell({ type: 'platformsChanged', platforms })
  }

  async #serve(leased: RegistrationJob): Promise<Uint8Array | Completion> {
    const job = signupJob(leased)
    const provider = this.#providers.get(job.platform)
    const adapter = this.#adapterOf(job.platform)
    const from = this.#clock.now()
    let sentAt: number | null = null
    const result: AttemptResult =
      adapter === null
        ? // It was there when the job was taken on, and the file has changed since.
          { type: 'failed', failure: { code: 'not_sent', permanent: false } }
        : await this.#executor.run({
            job,
            task: leased.task ?? 'book',
            provider,
            adapter,
            signal: leased.signal,
            confirmedAt: this.#offeredAt.get(leased) ?? from,
            confirm: () => leased.confirm(),
            onSend: () => {
              sentAt ??= this.#clock.now()
            },
          })
    // The ack was answered when the handler began; so it needs no clock that agrees with the source's.
    const sentAfterMs = sentAt === null ? null : Math.max(0, Math.round(sentAt - from))
    this.#tell(attemptEnded(leased, result, this.#clock.now() - from))
    if (result.type === 'failed') {
      const sent = sentAfterMs === null ? {} : { sentAfterMs }
      throw new AttemptFailure({ ...result.failure, ...sent })
    }
    const { type: outcome, isLookedUp } = result
    // An adapter of somebody's own may hand on anything.
    const bookingNumber = bookingNumberOf(result.bookingNumber)
    const booked = { outcome, bookingNumber }
    const feeStatus = await this.#fee(job, provider, booked, this.#chargeBy(adapter))
    const output = encodeOutput({ ...booked, feeStatus, isLookedUp })
    const offset = this.#offsets.all()[job.platform]
    // For whoever tells people, and shows the platform: the server has no other way to know its clock.
    const meta = {
      ...(offset === undefined ? {} : { clock_offset_ms: Math.round(offset.offsetMs) }),
      ...(sentAfterMs === null ? {} : { sent_after_ms: sentAfterMs }),
    }
    return Object.keys(meta).length === 0 ? output : new Completion({ value: output, meta })
  }

  /** The hook of whoever runs this, else the call that is configured; undefined where there is neither. */
  #chargeBy(adapter: Adapter | null): ((fee: Fee, job: SignupJob) => Promise<void>) | undefined {
    const { charge, chargeTimeoutMs = CHARGE_TIMEOUT_MS, wallClock = Date.now } = this.#options
    if (charge !== undefined) return charge
    if (adapter?.charge === undefined) return undefined
    return async ({ bookingNumber, idempotencyKey: key, signal }, job) => {
      const call = adapter.charge?.(job, bookingNumber, key) as HttpCall
      const options = { timeoutMs: chargeTimeoutMs, wallClock, signal, maySend: () => true }
      const sent = await exchange(call, options)
      if (sent.type !== 'answered') throw new Error(`no answer to the charge (${sent.code})`)
      const { status } = sent.answer
      if (status < 200 || status > 299) throw new Error(`the charge was answered with ${status}`)
    }
  }

  /** A seat costs the fee; a place on the waitlist does not. What goes wrong here undoes no booking (FEE-1). */
  async #fee(
    job: SignupJob,
    { platform }: ProviderConfig,
    { outcome, bookingNumber }: Pick<RegistrationOutput, 'outcome' | 'bookingNumber'>,
    charge: ((fee: Fee, job: SignupJob) => Promise<void>) | undefined,
  ): Promise<FeeStatus> {
    const { chargeTimeoutMs = CHARGE_TIMEOUT_MS } = this.#options
    if (charge === undefined || outcome === 'waitlisted') return 'none'
    const { jobId, orgRef, userId } = job
    const signal = AbortSignal.timeout(chargeTimeoutMs)
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    try {
      const key = `${job.idempotencyKey}-fee`
      const fee = { jobId, platform, orgRef, userId, bookingNumber, idempotencyKey: key, signal }
      // Within the race, so that a charge that throws at once leaves no rejection of `late` to nobody.
      await Promise.race([Promise.resolve().then(() => charge(fee, job)), late])
      return 'charged'
    } catch (error) {
      this.#note(error)
      this.#tell({ type: 'feeFailed', jobId, platform })
      return 'failed'
    }
  }

  #tell(event: SignupEvent): void {
    guarded(
      () => this.#options.onEvent?.(event),
      (error) => this.#note(error),
    )
  }

  #note(error: unknown, job: Job | null = null): void {
    guarded(() => this.#options.onError?.(error, job), warn)
  }
}

/** Calls an observer. One that throws or rejects goes to `failed`, and changes nothing for its caller (EXECUTE-7). */
function guarded(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    Promise.resolve(call()).catch(failed)
  } catch (error) {
    failed(error)
  }
}

/** The name alone: the text of an error may hold anything. */
function warn(error: unknown): void {
  const name = error instanceof Error ? error.name : typeof error
  process.emitWarning(`onError of a sign-up worker failed with a ${name}`)
}

function signupJob({ jobId, payload, idempotencyKey: key }: RegistrationJob): SignupJob {
  return {
    jobId,
    platform: payload.provider,
    orgRef: payload.org_ref,
    eventId: payload.event_id,
    userId: payload.user_id,
    args: payload.args,
    scheduledTime: payload.scheduled_time,
    idempotencyKey: key ?? idempotencyKey(jobId),
  }
}

function attemptEnded(
  { jobId, attempt, rank, payload }: RegistrationJob,
  result: AttemptResult,
  tookMs: number,
): SignupEvent {
  const failure: LeaseFailure | null = result.type === 'failed' ? result.failure : null
  return {
    type: 'attemptEnded',
    jobId,
    platform: payload.provider,
    attempt,
    rank,
    result: failure?.code ?? result.type,
    http: failure?.http ?? null,
    sentAt: result.sentAt ?? null,
    tookMs,
  }
}
