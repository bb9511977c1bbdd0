import { FairleadError, type JobId, type SessionKey } from '@fairlead/core'
import { platformPolicy } from '@fairlead/core/internal'
import type { SessionCounts } from '@fairlead/engine'
import type { SessionRecord } from '@fairlead/protocol'
import { dateText, orderMessage } from '@fairlead/signup/records'
import {
  actingAs,
  type Call,
  type Handlers,
  noteRead,
  ownCaller,
  type Services,
} from '../rpc/call.ts'
import { registrationRecord } from '../signup/registration-record.ts'
import { type Registration, unknownRegistration } from '../signup/registrations.ts'
import type { SignupDesk } from '../signup/signup-desk.ts'

export const signupSchedule: Handlers['signup.schedule'] = async (params, call, services) => {
  const { engine, signup, heap } = services
  heap.refuseWhenFull()
  const { opens_at, args = {}, program_name, idempotency_key, ...who } = params
  const payload = {
    ...who,
    args: program_name === undefined ? args : { ...args, program_name },
    scheduled_time: opens_at,
  }
  const key = idempotency_key === undefined ? {} : { idempotency_key }
  const by = {
    caller: ownCaller(call),
    tier: call.identity.tier,
    isOperator: call.identity.role !== 'requester',
  }
  const jobId = await engine
    .enqueue({ kind: 'registration', payload, ...key }, by)
    .catch((error: unknown) => withReference(inWordsOfTheCall(error), call, signup))
  const registration = await signup.registrations.accepted(jobId)
  const shown = await registrationRecord(registration, true, signup)
  const { place, of } = engine.view.sessionPlace(registration, jobId)
  return {
    reference: registration.reference,
    task_id: jobId,
    opens_at: registration.scheduledTime,
    place,
    of,
    confirmation: shown?.record.message.text ?? '',
    next: nextText(registration, place, services),
  }
}

/** The rules know the opening as `scheduled_time`; whoever called has named it `opens_at`. */
function inWordsOfTheCall(error: unknown): unknown {
  if (!(error instanceof FairleadError) || error.details['field'] !== 'scheduled_time') return error
  const text = error.message.replaceAll('scheduled_time', 'opens_at')
  return new FairleadError(error.code, text, { ...error.details, field: 'opens_at' })
}

/** A second sign-up is refused with the reference of the first, if that is the caller's own. */
async function withReference(
  error: unknown,
  call: Call,
  { registrations }: SignupDesk,
): Promise<never> {
  if (!(error instanceof FairleadError) || error.code !== 'IdempotencyConflict') throw error
  const { jobId, field } = error.details
  // The other cause is a key that was used for something else; that says so by itself.
  if (field !== 'user_id' || typeof jobId !== 'string') throw error
  const { reference, caller, status } = await registrations.accepted(jobId as JobId)
  const isOwn = call.identity.role !== 'requester' || caller === ownCaller(call)
  const advice =
    status === 'FAILED' || status === 'EXPIRED'
      ? 'nobody knows whether that booked: ask the site, and cancel it only if it did not'
      : 'look at that, or cancel it first'
  throw new FairleadError(
    'IdempotencyConflict',
    isOwn
      ? `user_id: this user has a place in the session already, under ${reference}; ${advice}`
      : 'user_id: this user has a place in the session already, scheduled by somebody else',
    { field: 'user_id', ...(isOwn ? { reference, jobId } : {}) },
  )
}

function nextText(registration: Registration, place: number, services: Services): string {
  const { scheduledTime, platform } = registration
  const { now: nowMs, policy } = services.engine.view
  const { timeZone } = platformPolicy(platform, policy.sessions.platforms)
  if (place === 0) return 'It has ended already; ask for it by its reference.'
  const before = place === 1 ? 'Nobody is before you' : `${place - 1} before you`
  const whatFollows =
    scheduledTime > nowMs
      ? `It opens at ${dateText(scheduledTime, timeZone)}. ${before} so far; then everybody gets a rank in this order, and is tried as fast as the site allows.`
      : `It is open. ${before}; you are tried in your turn, as fast as the site allows.`
  return whatFollows + unservedText(registration, services)
}

/** A name that is misspelt waits for ever, so it is said at once that nobody serves it. */
function unservedText({ platform }: Registration, { engine, signup }: Services): string {
  const isServed = engine.view.providers().some(({ workers, offer: { platforms } }) => {
    const isThere = workers === null || workers.byId.size > 0
    return isThere && (platforms.has(platform) || platforms.has('*'))
  })
  if (isServed) return ''
  return ` At the moment nobody serves ${signup.platformName(platform)}: it waits until somebody does.`
}

export const signupCancel: Handlers['signup.cancel'] = async ({ id }, call, services) => {
  const { engine } = services
  const registration = await ownRegistration(id, 'signup.cancel', call, services)
  const { jobId, reference } = registration
  const by = call.identity.role === 'requester' ? ownCaller(call) : 'operator'
  try {
    await engine.cancel(jobId, by, actingAs(call))
  } catch (error) {
    // Of one that has ended and may have booked, the place can be given up (SIGNUP-6).
    if (
      !(await isReleased(error, () => engine.releasePlace(registration, jobId, by, actingAs(call))))
    )
      throw error
    const { status } = await engine.getJob(jobId)
    return { reference, task_id: jobId, status, is_noted: false }
  }
  const { status } = await engine.getJob(jobId)
  return { reference, task_id: jobId, status, is_noted: status !== 'CANCELED' }
}

async function isReleased(error: unknown, release: () => Promise<boolean>): Promise<boolean> {
  if (!(error instanceof FairleadError) || error.code !== 'InvalidState') return false
  return release().catch(() => false)
}

export const signupList: Handlers['signup.list'] = async (params, call, services) => {
  const { signup } = services
  const { provider, org_ref, event_id, cursor, limit = 100 } = params
  const isSeen = seenBy(call)
  const found = await signup.registrations.list(
    (one) =>
      isSeen(one) &&
      (provider === undefined || one.platform === provider) &&
      (org_ref === undefined || one.orgRef === org_ref) &&
      (event_id === undefined || one.eventId === event_id),
    { after: cursor === undefined ? 0 : Number(cursor), limit },
  )
  const shown = await Promise.all(
    found.map((one) => registrationRecord(one, isOwn(call, one), signup)),
  )
  const last = found.length < limit ? undefined : found.at(-1)
  noteRead(call, 'signup.list', callersOf(found), services)
  return {
    registrations: shown.flatMap((one) => (one === null ? [] : [one.record])),
    cursor: last === undefined ? null : String(last.seq),
  }
}

export const signupListSessions: Handlers['signup.listSessions'] = async (
  params,
  call,
  services,
) => {
  const { engine, signup } = services
  const { provider, org_ref } = params
  const isSeen = seenBy(call)
  const all = await signup.registrations.list(() => true, EVERYTHING)
  const bySession = new Map<string, Registration[]>()
  for (const one of all) {
    const id = sessionId(one)
    const known = bySession.get(id)
    if (known === undefined) bySession.set(id, [one])
    else known.push(one)
  }
  const sessions = engine.view
    .sessions()
    .filter(
      (one) =>
        (provider === undefined || one.platform === provider) &&
        (org_ref === undefined || one.orgRef === org_ref) &&
        (call.identity.role !== 'requester' || (bySession.get(sessionId(one)) ?? []).some(isSeen)),
    )
    // They came in the order of their keys, which decides where two open together.
    .sort((a, b) => a.opensAt - b.opensAt)
  const now = engine.view.now
  return {
    sessions: sessions.map((one) => sessionRecord(one, bySession.get(sessionId(one)) ?? [], now)),
  }
}

const EVERYTHING = { after: 0, limit: Number.POSITIVE_INFINITY }

export const signupGetSession: Handlers['signup.getSession'] = async (params, call, services) => {
  const { engine, signup } = services
  const { provider, org_ref, event_id, after_place = 0, limit = 100 } = params
  const key = { platform: provider, orgRef: org_ref, eventId: event_id }
  const counts = engine.view.sessions().find((one) => sessionId(one) === sessionId(key))
  const isSeen = seenBy(call)
  const members = await signup.registrations.list(
    (one) => sessionId(one) === sessionId(key),
    EVERYTHING,
  )
  if (counts === undefined || (call.identity.role === 'requester' && !members.some(isSeen))) {
    throw new FairleadError(
      'NotFound',
      'there is no such session, or you have nobody in it; provider, org_ref and event_id name one',
      { field: 'event_id' },
    )
  }
  const entries = engine.view.sessionEntries(key).map((entry, i) => ({ ...entry, place: i + 1 }))
  const visible = entries.filter(isSeen)
  const shown = visible.filter(({ place }) => place > after_place).slice(0, limit)
  noteRead(call, 'signup.getSession', callersOf(shown), services)
  const queue = await Promise.all(
    shown.map(async (entry) => ({
      reference: (await signup.registrations.accepted(entry.jobId)).reference,
      task_id: entry.jobId,
      place: entry.place,
      rank: entry.rank,
      send_at: entry.sendAt,
      queued_at: entry.queuedAt,
      attempts: entry.attempts,
      state: entry.state,
      retry_at: entry.retryAt,
    })),
  )
  return {
    session: sessionRecord(counts, members, engine.view.now),
    queue,
    others: entries.length - visible.length,
    dispatch_key: signup.meter.dispatchKey(key),
    order: orderMessage(signup.serviceName),
  }
}

export const signupSetOpening: Handlers['signup.setOpening'] = async (params, call, { engine }) => {
  const { provider, org_ref, event_id, opens_at } = params
  const session = { platform: provider, orgRef: org_ref, eventId: event_id }
  await engine.setOpening(session, opens_at, actingAs(call))
  return params
}

export const signupAudit: Handlers['signup.audit'] = async ({ id }, call, services) => {
  const { signup } = services
  const registration = await ownRegistration(id, 'signup.audit', call, services)
  const shown = await registrationRecord(registration, isOwn(call, registration), signup)
  if (shown === null) {
    throw new FairleadError('NotFound', `there is no registration ${id} any more`, { id })
  }
  noteRead(call, 'signup.audit', [registration.caller], services)
  return { registration: shown.record, timeline: shown.timeline }
}

/** That of another requester is answered as one that there is not; the attempt is noted (SIGNUP-6). */
async function ownRegistration(
  id: string,
  method: 'signup.cancel' | 'signup.audit',
  call: Call,
  { signup, notes }: Services,
): Promise<Registration> {
  const registration = await signup.registrations.find(id)
  if (seenBy(call)(registration)) return registration
  notes.forbidden(call.identity, method)
  throw unknownRegistration(id)
}

/** A requester sees its own; all others that may ask see everything. */
function seenBy(call: Call): (one: Pick<Registration, 'caller'>) => boolean {
  if (call.identity.role !== 'requester') return () => true
  const own = ownCaller(call)
  return ({ caller }) => caller === own
}

function callersOf(shown: readonly Pick<Registration, 'caller'>[]): Registration['caller'][] {
  return shown.map(({ caller }) => caller)
}

function isOwn(call: Call, { caller }: Registration): boolean {
  return caller === ownCaller(call)
}

function sessionId({ platform, orgRef, eventId }: SessionKey): string {
  return JSON.stringify([platform, orgRef, eventId])
}

function sessionRecord(
  { platform, orgRef, eventId, opensAt, waiting, inFlight }: SessionCounts,
  members: readonly Registration[],
  nowMs: number,
): SessionRecord {
  const count = (...wanted: readonly Registration['status'][]): number =>
    members.filter(({ status }) => wanted.includes(status)).length
  return {
    provider: platform,
    org_ref: orgRef,
    event_id: eventId,
    opens_at: opensAt,
    is_open: opensAt <= nowMs,
    waiting,
    in_flight: inFlight,
    completed: count('COMPLETED'),
    failed: count('FAILED', 'EXPIRED'),
    canceled: count('CANCELED'),
  }
}
