import { createHash } from 'node:crypto'
import { attemptOf, lookupAfter, type ScriptJob, type SessionScript } from './any-session-script.ts'
import type { ScriptFinal, ScriptResult, ScriptSend } from './run-session-script.ts'

/**
 * Sessions as the rules write them, one millisecond after the other, with nothing but lists. The tests
 * compare the machine with this. It shares no code with it.
 */

interface PlainPolicy {
  c: number
  burst: number
  rate: number
  spacing: number
  window: number
  backoff: readonly number[]
  idempotent: boolean
  lookup: boolean
  taxonomy: Readonly<Record<string, string>>
  listed: readonly number[] | null
  weights: Readonly<Record<string, number>> | null
}

interface PlainJob {
  of: ScriptJob
  state: 'absent' | 'unranked' | 'waiting' | 'flying' | 'ended'
  tie: string
  rank: number
  readyAt: number
  sends: number
  firstSend: number
  lastSend: number
  endsAt: number
  sendSeq: number
  unknown: boolean
  cancel: boolean
  final: ScriptFinal | null
}

interface PlainKey {
  name: readonly [string, string]
  policy: PlainPolicy
  level: number
  rate: number
  conc10: number
  spacing10: number
  pauseEnd: number
  halved: number
  last: number
  served: string | null
  sentAt: Map<string, number>
  figures: Map<string, number>
}

const BUILT_IN: Record<string, object> = {
  bookeo: { c: 3, burst: 6, rate: 3_000, spacing: 40 },
  campminder: { c: 1, burst: 2, rate: 1_000, spacing: 100 },
}

function policyOf(platform: string, { rows }: SessionScript): PlainPolicy {
  const renamed = (name: string): object => {
    const row = rows[name] ?? {}
    const pairs = {
      c: row.maxConcurrency,
      burst: row.burst,
      rate: row.maxRpsMilli,
      spacing: row.minSpacingMs,
      window: row.windowMs,
      backoff: row.backoffMs,
      idempotent: row.idempotencyKeySupported,
      lookup: row.lookupSupported,
      taxonomy: row.errorTaxonomy,
      listed: row.retryOnHttp,
      weights: row.weights,
    }
    return Object.fromEntries(Object.entries(pairs).filter(([, value]) => value !== undefined))
  }
  return {
    ...{ c: 2, burst: 4, rate: 2_000, spacing: 50, window: 120_000 },
    ...{ backoff: [250, 500, 1_000, 2_000], idempotent: false, lookup: false },
    ...{ taxonomy: {}, listed: null, weights: null },
    ...renamed('default'),
    ...BUILT_IN[platform],
    ...renamed(platform),
  }
}

const bytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

function inOrder(a: PlainJob, b: PlainJob): number {
  return (
    a.of.request.scheduledTime - b.of.request.scheduledTime ||
    a.of.queuedAt - b.of.queuedAt ||
    bytes(a.tie, b.tie) ||
    bytes(a.of.request.id, b.of.request.id)
  )
}

export function plainSessionDispatch(script: SessionScript): ScriptResult {
  const jobs: PlainJob[] = script.jobs.map((of) => {
    const { userId, scheduledTime, eventId } = of.request
    const text = `${userId}${new Date(scheduledTime).toISOString()}${eventId}`
    return {
      of,
      state: 'absent',
      tie: createHash('sha256').update(text).digest('hex').slice(0, 16),
      ...{ rank: -1, readyAt: Infinity, sends: 0, firstSend: 0, lastSend: 0, endsAt: -1 },
      ...{ sendSeq: -1, unknown: false, cancel: false, final: null },
    }
  })
  const keys: PlainKey[] = []
  const sends: ScriptSend[] = []
  const keyOf = ({ of }: PlainJob): PlainKey => {
    const { platform, orgRef } = of.request
    const found = keys.find(({ name }) => name[0] === platform && name[1] === orgRef)
    if (found !== undefined) return found
    const policy = policyOf(platform, script)
    const key: PlainKey = {
      ...{ name: [platform, orgRef], policy, level: policy.burst * 1e6, rate: policy.rate },
      ...{ conc10: 10 * policy.c, spacing10: 10 * policy.spacing, pauseEnd: -1, halved: -1 },
      ...{ last: -1, served: null, sentAt: new Map(), figures: new Map() },
    }
    keys.push(key)
    keys.sort((a, b) => bytes(a.name[0], b.name[0]) || bytes(a.name[1], b.name[1]))
    return key
  }
  const end = (job: PlainJob, at: number, status: string, reason: string | null = null): void => {
    job.state = 'ended'
    job.final = { id: job.of.request.id, status, reason, at, attempts: job.sends }
    const { eventId } = job.of.request
    const live = jobs.some(
      (other) =>
        other.of.request.eventId === eventId &&
        other.state !== 'absent' &&
        other.state !== 'ended' &&
        keyOf(other) === keyOf(job),
    )
    if (!live) keyOf(job).figures.delete(eventId)
  }
  const rank = (job: PlainJob): void => {
    const { request } = job.of
    const group = jobs.filter(
      (other) =>
        keyOf(other) === keyOf(job) &&
        other.of.request.eventId === request.eventId &&
        other.of.request.scheduledTime === request.scheduledTime,
    )
    job.rank = Math.max(...group.map((other) => other.rank)) + 1
    job.readyAt = request.scheduledTime + job.rank * keyOf(job).policy.spacing
    job.state = 'waiting'
  }
  const windowEnd = (job: PlainJob): number =>
    Math.max(job.of.request.scheduledTime, job.firstSend) + keyOf(job).policy.window

  for (let t = Math.min(...jobs.map(({ of }) => of.queuedAt)); ; t++) {
    for (const key of keys) {
      if (t - 1 >= key.pauseEnd) {
        key.level = Math.min(key.policy.burst * 1e6, key.level + key.rate)
      }
    }
    // 1. attempts that end
    const ending = jobs.filter((job) => job.state === 'flying' && job.endsAt === t)
    for (const job of ending.sort((a, b) => a.sendSeq - b.sendSeq)) outcome(job, t)
    // 2. recoveries
    for (const key of keys) {
      const { c, rate, spacing } = key.policy
      if (key.last === -1 || t !== key.last + 10_000) continue
      if (key.rate === rate && key.conc10 === 10 * c && key.spacing10 === 10 * spacing) continue
      key.rate = Math.min(rate, key.rate + Math.ceil(rate / 10))
      key.conc10 = Math.min(10 * c, key.conc10 + c)
      key.spacing10 = Math.max(10 * spacing, key.spacing10 - spacing)
      key.last = t
    }
    // 3. retry windows
    for (const job of jobs) {
      if (job.state !== 'waiting' || job.sends === 0 || t <= windowEnd(job)) continue
      end(job, t, 'FAILED', job.unknown ? 'outcome_unknown' : 'retry_window_exhausted')
    }
    // 4. openings
    const opening = jobs.filter(
      (job) => job.state === 'unranked' && job.of.request.scheduledTime === t,
    )
    for (const job of opening.sort(inOrder)) rank(job)
    // 5. joins
    for (const job of jobs) {
      if (job.state !== 'absent' || job.of.queuedAt !== t) continue
      if (job.of.request.scheduledTime <= t) rank(job)
      else job.state = 'unranked'
    }
    // 6. cancels
    for (const job of jobs) {
      if (job.of.cancelAt !== t || job.state === 'ended') continue
      if (job.state === 'flying') job.cancel = true
      else if (!job.unknown) end(job, t, 'CANCELED')
      else settleCancelled(job, t)
    }
    // 7. sends
    for (const key of keys) while (sendOne(key, t));
    if (jobs.every(({ state }) => state === 'ended')) break
  }
  return { sends, finals: jobs.map(({ final }) => final as ScriptFinal) }

  function settleCancelled(job: PlainJob, t: number): void {
    const found = keyOf(job).policy.lookup ? lookupAfter(job.of, job.sends) : null
    if (found === 'booked') end(job, t, 'COMPLETED')
    else if (found === 'not_booked') end(job, t, 'CANCELED')
    else end(job, t, 'FAILED', 'outcome_unknown')
  }

  function outcome(job: PlainJob, t: number): void {
    const { outcome: met } = attemptOf(job.of, job.sends - 1)
    const key = keyOf(job)
    const { policy } = key
    job.state = 'waiting'
    if (met.type === 'refused' && met.http === 429) throttle(key, job, t, met.retryAfterMs ?? 0)
    if (met.type === 'booked') return end(job, t, 'COMPLETED')

    let what: string
    if (met.type === 'unsent') what = job.unknown ? 'unknown' : 'transient'
    else if (met.type === 'unknown') what = 'unknown'
    else what = classOf(met, policy)
    if (what === 'unknown' && met.type !== 'unsent') {
      if (job.cancel) return settleCancelled(job, t)
      if (!policy.idempotent) {
        const found = policy.lookup ? lookupAfter(job.of, job.sends) : null
        if (found === 'booked') return end(job, t, 'COMPLETED')
        if (found !== 'not_booked') return end(job, t, 'FAILED', 'outcome_unknown')
        what = 'transient'
      }
    }
    if (job.cancel) {
      if (what === 'unknown') return end(job, t, 'FAILED', 'outcome_unknown')
      return end(job, t, 'CANCELED')
    }
    if (what === 'permanent' && met.type === 'refused') {
      return end(job, t, 'FAILED', met.error ?? `http_${met.http}`)
    }
    job.unknown = what === 'unknown'
    const listed = policy.backoff[Math.min(job.sends - 1, policy.backoff.length - 1)] as number
    const wait = Math.max(listed, met.type === 'refused' ? (met.retryAfterMs ?? 0) : 0)
    job.readyAt = t + wait
    if (job.readyAt <= windowEnd(job)) return
    end(job, t, 'FAILED', job.unknown ? 'outcome_unknown' : 'retry_window_exhausted')
  }

  function throttle(key: PlainKey, job: PlainJob, t: number, retryAfter: number): void {
    const { policy } = key
    if (job.lastSend >= key.halved) {
      key.rate = Math.max(Math.min(policy.rate, 100), Math.floor(key.rate / 2))
      key.conc10 = Math.max(10, Math.floor(key.conc10 / 2))
      key.spacing10 = Math.min(80 * policy.spacing, 2 * key.spacing10)
      key.halved = t
    }
    key.last = t
    if (retryAfter === 0) return
    key.pauseEnd = Math.max(key.pauseEnd, t + retryAfter)
    key.level = Math.min(key.level, 1e6)
  }

  function sendOne(key: PlainKey, t: number): boolean {
    const own = jobs.filter((job) => keyOf(job) === key)
    const flying = own.filter(({ state }) => state === 'flying').length
    if (t < key.pauseEnd || flying >= Math.floor(key.conc10 / 10) || key.level < 1e6) return false
    const widened = key.spacing10 > 10 * key.policy.spacing
    const ready = own.filter(({ state, readyAt, of }) => {
      if (state !== 'waiting' || readyAt > t) return false
      const last = key.sentAt.get(of.request.eventId)
      return !widened || last === undefined || t >= last + Math.ceil(key.spacing10 / 10)
    })
    const sessions = [...new Set(ready.map(({ of }) => of.request.eventId))].sort(bytes)
    if (sessions.length === 0) return false
    const session = choose(key, sessions)
    const job = ready
      .filter(({ of }) => of.request.eventId === session)
      .sort(inOrder)[0] as PlainJob
    sends.push({ at: t, id: job.of.request.id, attempt: job.sends })
    job.endsAt = t + attemptOf(job.of, job.sends).serviceMs
    job.sendSeq = sends.length
    job.state = 'flying'
    job.lastSend = t
    if (job.sends === 0) job.firstSend = t
    job.sends++
    key.level -= 1e6
    key.served = session
    key.sentAt.set(session, t)
    return true
  }
}

function choose(key: PlainKey, sessions: readonly string[]): string {
  const { weights } = key.policy
  const { served, figures } = key
  if (weights === null) {
    const behind = sessions.filter((session) => served !== null && bytes(session, served) > 0)
    return (behind[0] ?? sessions[0]) as string
  }
  let sum = 0
  for (const session of sessions) {
    figures.set(session, (figures.get(session) ?? 0) + (weights[session] ?? 1))
    sum += weights[session] ?? 1
  }
  const figureOf = (session: string): number => figures.get(session) ?? 0
  const best = sessions.toSorted((a, b) => figureOf(b) - figureOf(a) || bytes(a, b))[0] as string
  figures.set(best, figureOf(best) - sum)
  return best
}

function classOf(
  { http, error }: { readonly http?: number; readonly error?: string },
  { taxonomy, listed }: PlainPolicy,
): string {
  const named: [string, string[]][] = [
    ['transient', ['timeout', 'network', 'not_yet_open']],
    ['permanent', ['validation_error', 'sold_out', 'not_found', 'auth_error']],
  ]
  if (error !== undefined) {
    for (const [code, found] of Object.entries(taxonomy)) if (code === error) return found
    for (const [found, codes] of named) if (codes.includes(error)) return found
  }
  if (http !== undefined) {
    for (const [code, found] of Object.entries(taxonomy)) if (code === String(http)) return found
    if (listed !== null) {
      if (listed.includes(http)) return 'transient'
      return http < 500 || [500, 502, 503, 504].includes(http) ? 'permanent' : 'transient'
    }
    if ([408, 429, 500, 502, 503, 504].includes(http)) return 'transient'
    if (http >= 400 && http <= 499) return 'permanent'
  }
  return 'transient'
}
