import { type CborMap, decodeCbor, type JobId, type LeaseId } from '@fairlead/core'
import { isPlainObject } from '@fairlead/core/internal'
import type { Engine, EngineEvent, RegistrationFacts } from '@fairlead/engine'
import type { DispatchKeyRecord } from '@fairlead/protocol'
import { decodeOutput } from '@fairlead/signup/records'
import type { Registry } from 'prom-client'
import { AnswerWindow } from './answer-window.ts'
import {
  codeLabel,
  endLabel,
  httpLabel,
  PLATFORM_LABELS_MAX,
  rankLabel,
  signupMetrics,
} from './signup-metrics.ts'

/** A registration that is followed until it ends. */
interface Track {
  readonly platform: string
  readonly orgRef: string
  /** From when on it could be tried: the opening, or when it was scheduled if that was later. */
  readonly from: number
  rank: number | null
  isTried: boolean
  /** The time of its first call was observed. */
  isSent: boolean
  /** Who has it now only looks if it is booked. */
  isLookup: boolean
  /** The ack of the attempt in flight: what is sent goes out after it. */
  startedAt: number | null
}

/** Registrations that are followed at a time, and dispatch keys whose answers are remembered. */
const TRACKS_MAX = 200_000
const KEYS_MAX = 10_000

/** Events after which other platforms may be known. */
const PLATFORM_NEWS: ReadonlySet<string> = new Set([
  'policyChanged',
  'providerRegistered',
  'providerUpdated',
  'workerConnected',
])

/**
 * Follows registrations for the metrics, which are labelled by platform only, and for the figures of each
 * dispatch key. A platform that is neither configured nor served by anybody counts as `other`: its name
 * is a requester's own text.
 */
export class SignupMeter {
  readonly #engine: Engine
  readonly #metrics: ReturnType<typeof signupMetrics>
  readonly #tracks = new Map<JobId, Track>()
  readonly #leases = new Map<LeaseId, Track>()
  readonly #answers = new Map<string, AnswerWindow>()
  readonly #offsets = new Map<string, number>()
  #platforms: ReadonlySet<string> | null = null
  readonly #labels = new Set<string>()

  constructor(engine: Engine, registry: Registry) {
    this.#engine = engine
    this.#metrics = signupMetrics(registry)
    for (const facts of engine.view.registrations()) this.#follow(facts)
  }

  see(event: EngineEvent): void {
    if (PLATFORM_NEWS.has(event.type)) this.#platforms = null
    const { type } = event
    if (type === 'jobEnqueued') {
      const facts = this.#engine.view.registration(event.jobId)
      if (facts !== null) this.#follow(facts)
    } else if (type === 'jobAssigned') this.#assigned(event)
    else if (type === 'jobStarted') {
      const track = this.#leases.get(event.leaseId)
      if (track !== undefined) track.startedAt = event.at
    } else if (type === 'leaseCancelled') this.#attemptFailed(event)
    else if (type === 'jobCompleted') this.#completed(event)
    else if (type === 'jobFailed' || type === 'jobExpired') this.#ended(event, 'failed')
    else if (type === 'jobCanceled') this.#ended(event, 'canceled')
    else if (type === 'feeFailed') {
      const platform = this.#label(this.#tracks.get(event.jobId)?.platform ?? 'other')
      this.#metrics.feesFailed.inc({ platform })
    }
  }

  /** What an organisation may send at a platform, and what that answers. */
  dispatchKey({ platform, orgRef }: { platform: string; orgRef: string }): DispatchKeyRecord {
    const { view } = this.#engine
    const key = view.dispatchKey({ platform, orgRef })
    const { answers, of429, of5xx } = this.#answersOf(platform, orgRef).shares(view.now)
    return {
      provider: platform,
      org_ref: orgRef,
      in_flight: key.inFlight,
      in_flight_max: key.inFlightMax,
      rate_per_second: key.rate,
      rate_configured: key.rateConfigured,
      burst: key.burst,
      tokens: key.tokens,
      burst_used: burstUsed(key),
      spacing_ms: key.spacingMs,
      paused_until: key.pausedUntil,
      answers,
      rate_429: of429,
      rate_5xx: of5xx,
      clock_offset_ms: this.#offsets.get(platform) ?? null,
    }
  }

  /** What is looked at when somebody asks for the metrics. */
  refresh(): void {
    const { queued, inFlight, allowed, burst } = this.#metrics
    for (const gauge of [queued, inFlight, allowed, burst]) gauge.reset()
    const { view } = this.#engine
    for (const { platform, waiting } of view.sessions()) {
      queued.inc({ platform: this.#label(platform) }, waiting)
    }
    const used = new Map<string, number>()
    for (const key of view.dispatchKeys()) {
      const platform = this.#label(key.platform)
      inFlight.inc({ platform }, key.inFlight)
      allowed.inc({ platform }, key.rate)
      used.set(platform, Math.max(used.get(platform) ?? 0, burstUsed(key)))
    }
    for (const [platform, share] of used) burst.set({ platform }, share)
  }

  #follow({ jobId, platform, orgRef, scheduledTime, queuedAt, rank }: RegistrationFacts): Track {
    const from = Math.max(scheduledTime, queuedAt)
    const fresh = { isTried: false, isSent: false, isLookup: false, startedAt: null }
    const track = { platform, orgRef, from, rank, ...fresh }
    if (this.#tracks.size < TRACKS_MAX) this.#tracks.set(jobId, track)
    return track
  }

  #assigned(event: Extract<EngineEvent, { type: 'jobAssigned' }>): void {
    const { jobId, leaseId, rank, task } = event
    const track = this.#tracks.get(jobId)
    if (rank === undefined || track === undefined) return
    this.#lost(track)
    track.rank = rank
    track.isLookup = task === 'lookup'
    this.#leases.set(leaseId, track)
    if (track.isLookup) return
    this.#metrics.attempts.inc({ platform: this.#label(track.platform) })
    track.isTried = true
  }

  #attemptFailed(event: Extract<EngineEvent, { type: 'leaseCancelled' }>): void {
    const { leaseId, code, http, sentAfterMs, at } = event
    const track = this.#leases.get(leaseId)
    this.#leases.delete(leaseId)
    if (track === undefined) return
    if (code === undefined) return this.#lost(track)
    // A worker that tells neither has sent nothing (MESSAGE-3).
    if (sentAfterMs !== undefined || http !== undefined) this.#sent(track, at, sentAfterMs ?? 0)
    const platform = this.#label(track.platform)
    this.#metrics.refusals.inc({ platform, code: codeLabel(code, http) })
    // Without a status the site has not answered, or was not asked.
    if (http !== undefined) {
      this.#answered(track, at, http)
      this.#metrics.httpErrors.inc({ platform, status: httpLabel(http) })
    }
    track.startedAt = null
  }

  /** The attempt before is over, and its worker has told nothing: it may have sent from its ack on. */
  #lost(track: Track): void {
    if (track.startedAt !== null) this.#sent(track, track.startedAt, 0)
    track.startedAt = null
  }

  /** The first call of the first attempt went out so long after its ack, and no later than it was told. */
  #sent(track: Track, toldAt: number, afterMs: number): void {
    const { platform, from, startedAt } = track
    if (track.isSent || track.isLookup || startedAt === null) return
    track.isSent = true
    const at = Math.min(startedAt + afterMs, toldAt)
    this.#metrics.firstAttempt.observe(
      { platform: this.#label(platform) },
      Math.max(0, at - from) / 1_000,
    )
  }

  #completed(event: Extract<EngineEvent, { type: 'jobCompleted' }>): void {
    const { jobId, leaseId, at } = event
    const track = this.#leases.get(leaseId)
    this.#leases.delete(leaseId)
    if (track === undefined) return
    const { startedAt } = track
    this.#answered(track, at, null)
    track.startedAt = startedAt
    // Whether it is a seat or a place on the waitlist is in its result.
    this.#engine.view.read.result(jobId).then(
      (result) => {
        const output = result?.output == null ? null : decodeOutput(result.output)
        const meta = result?.meta == null ? null : decodeCbor(result.meta)
        this.#noteOffset(track.platform, meta)
        const told = isPlainObject(meta) ? (meta as CborMap)['sent_after_ms'] : undefined
        this.#sent(track, at, typeof told === 'number' && told > 0 ? told : 0)
        this.#ended(event, output?.outcome ?? 'booked')
      },
      () => this.#ended(event, 'booked'),
    )
  }

  #ended({ jobId, at }: { readonly jobId: JobId; readonly at: number }, result: string): void {
    const track = this.#tracks.get(jobId)
    if (track === undefined) return
    this.#tracks.delete(jobId)
    this.#lost(track)
    const platform = this.#label(track.platform)
    this.#metrics.outcomes.inc({
      platform,
      result,
      rank: rankLabel(track.isTried ? track.rank : null),
    })
    this.#metrics.outcome.observe(
      { platform, result: endLabel(result) },
      Math.max(0, at - track.from) / 1_000,
    )
  }

  #answered(track: Track, at: number, http: number | null): void {
    const { platform, orgRef, startedAt } = track
    this.#answersOf(platform, orgRef).add(at, http)
    if (startedAt === null) return
    this.#metrics.latency.observe({ platform: this.#label(platform) }, (at - startedAt) / 1_000)
    track.startedAt = null
  }

  #noteOffset(platform: string, meta: unknown): void {
    const offset = isPlainObject(meta) ? (meta as CborMap)['clock_offset_ms'] : undefined
    if (typeof offset === 'number' && this.#label(platform) === platform) {
      this.#offsets.set(platform, offset)
    }
  }

  #answersOf(platform: string, orgRef: string): AnswerWindow {
    const id = JSON.stringify([platform, orgRef])
    const known = this.#answers.get(id)
    if (known !== undefined) return known
    if (this.#answers.size >= KEYS_MAX) this.#answers.clear()
    const fresh = new AnswerWindow()
    this.#answers.set(id, fresh)
    return fresh
  }

  #label(platform: string): string {
    this.#platforms ??= this.#knownPlatforms()
    if (!this.#platforms.has(platform)) return 'other'
    // A worker may offer any number of names; a name that has a label keeps it.
    if (!this.#labels.has(platform) && this.#labels.size >= PLATFORM_LABELS_MAX) return 'other'
    this.#labels.add(platform)
    return platform
  }

  #knownPlatforms(): ReadonlySet<string> {
    const { policy } = this.#engine.view
    const served = this.#engine.view.providers().flatMap(({ offer }) => [...offer.platforms])
    return new Set([...Object.keys(policy.sessions.platforms), ...served])
  }
}

function burstUsed({ tokens, burst }: { readonly tokens: number; readonly burst: number }): number {
  return Math.max(0, 1 - tokens / burst)
}
