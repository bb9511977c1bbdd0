import type {
  JobRow,
  LeaseRow,
  LeaseStatus,
  Pause,
  ProviderId,
  Refusal,
  WaitReason,
} from '@fairlead/core'
import {
  ackDueAt,
  type CancelReason,
  type EndReason,
  isoUtc,
  type KnownEndReason,
  type LimitHold,
  type LimitHoldReason,
  PROVIDERS_KEPT,
  type RoundRow,
} from '@fairlead/core/internal'
import { durationText } from './duration-text.ts'
import type {
  AssignedExplanation,
  AttemptExplanation,
  Explanation,
  JobEnd,
  PassedOver,
  WaitingExplanation,
} from './explain.ts'
import { oneLine } from './one-line.ts'
import { optionLines } from './options-text.ts'

/** An explanation as text for people, one fact a line (EXPLAIN-6). */
export function explanationText(explanation: Explanation): string {
  const lines = 'providers' in explanation ? waiting(explanation) : assigned(explanation)
  return lines.join('\n')
}

/** How many dependencies a text names; the rest is only counted. */
const DEPENDENCIES_LISTED = 5

/** How many providers a text lists one by one; the rest is only counted. */
const PROVIDERS_LISTED = 20

/** How many are listed of providers that do not offer what the job asks for: none comes closer than another. */
const UNFIT_LISTED = 3

/** The meaning of each refusal. The slot count is null for past rounds, which do not record it. */
export const REFUSAL_MEANS: {
  readonly [R in Refusal]: string | ((slots: number | null) => string)
} = {
  provider_not_active: 'it is not active',
  attestation_invalid: 'its attestation is missing or not valid at this time',
  stake_below_minimum: 'its stake is below the minimum for what it offers',
  heartbeat_stale: 'it has not been heard of for too long',
  unhealthy: 'its health is below the minimum after failures',
  cooling_down: 'it gets no work for a while after failures in a row',
  capability_missing: 'it does not take jobs of this kind',
  model_unsupported: 'it does not offer what the job asks for by name',
  circuit_unsupported: 'the circuit is deeper or has more shots than it takes',
  region_denied: 'it is in no region that the job and the policy allow',
  requester_denied: 'it or the policy does not admit the requester',
  lease_cap_reached: (slots) => {
    if (slots === 0) return 'it has no slots, because no worker of it is connected or it takes none'
    if (slots === 1) return 'its only slot is taken'
    return slots === null ? 'all its slots are taken' : `all its ${slots} slots are taken`
  },
  epoch_units_exhausted: 'the job needs more units than it has left in this epoch',
  class_cooling_down: 'it declined a job like this one a short time ago',
  denied_for_job: 'it had this job before and may not have it again so soon',
  requester_rate_limited: 'the requester has got all the jobs that its window admits',
  limit_exhausted: 'a limit that the job needs has no room for it',
}

const WAIT_MEANS: {
  readonly [R in WaitReason]: (explanation: WaitingExplanation) => string
} = {
  ready: () => 'Nothing holds it: the next round can give it to a provider.',
  paused: ({ pause, at }) =>
    pause === null ? 'Its queue is paused.' : `${pauseText(pause, at)} Resume that to let it go.`,
  scheduled: ({ notBefore, at }) => `It is scheduled: not before ${ahead(notBefore ?? at, at)}.`,
  dependencies: ({ dependencies: ids }) => {
    const listed = ids.slice(0, DEPENDENCIES_LISTED).join(', ')
    const more = ids.length - DEPENDENCIES_LISTED
    const rest = more > 0 ? ` and ${more} more` : ''
    return `It waits for ${times(ids.length, 'other job')} to end: ${listed}${rest}.`
  },
  backoff: ({ job, notBefore, at }) =>
    `It is in backoff after ${times(job.retries, 'failed attempt')}: not before ${ahead(notBefore ?? at, at)}.`,
  not_open: ({ notBefore, at }) =>
    `Its session has not opened: not before ${ahead(notBefore ?? at, at)}.`,
  pacing: ({ notBefore, at, session }) =>
    `It has rank ${session?.rank ?? 0} in its session: not before ${ahead(notBefore ?? at, at)}.`,
  budget: (explanation) =>
    explanation.session === null
      ? limitHoldText(explanation)
      : budgetText(explanation.session, explanation.at),
  proof: () => 'It waits for a proof of its work.',
  no_provider: ({ job, providers }) => {
    if (providers.length === 0) return 'There is no provider at all.'
    if (!isUnoffered(providers)) return 'No provider fits it now.'
    if (job.model === null || providers.every(({ refusal }) => refusal === 'capability_missing')) {
      return `No provider takes jobs of kind ${job.kind}; connect a worker that does.`
    }
    const precise = job.kind === 'ai' ? ', or none in a precision that the job takes' : ''
    return `No provider offers ${oneLine(job.model)}${precise}; connect a worker that does.`
  },
}

/** True if every provider lacks what the job asks for, by its kind or by name. */
function isUnoffered(providers: WaitingExplanation['providers']): boolean {
  return providers.every(
    ({ refusal }) => refusal === 'capability_missing' || refusal === 'model_unsupported',
  )
}

function pauseText({ kind, name, caller, since }: Pause, at: number): string {
  const named = name === null ? '' : ` ${oneLine(name)}`
  const whose = caller === null ? '' : ' of its requester'
  const ago = durationText(at - since)
  return `The queue ${kind}${named}${whose} has been paused for ${ago} (since ${isoUtc(since)}).`
}

/** Picks the limit that is due for another look first, or else one that no time will free. */
function limitHoldText({ providers, at }: WaitingExplanation): string {
  const limits = providers.flatMap(({ limit }) => (limit === null ? [] : [limit]))
  const timed = limits.filter(({ until }) => until !== null)
  const [first] = timed.sort((a, b) => (a.until ?? 0) - (b.until ?? 0))
  const limit = first ?? limits[0]
  return limit === undefined ? 'A limit holds it.' : `A limit holds it: ${limitText(limit, at)}.`
}

const HOLD_MEANS: { readonly [R in LimitHoldReason]: string } = {
  exhausted: 'has no room for that now',
  waited_for: 'has room, but a job ahead of it waits for the same limit',
  unknown: 'is not defined; define it, or take it out of the policy',
  too_large: 'is smaller than that, so it never fits; raise the limit, or cancel the job',
}

function limitText({ key, reason, amount, until }: LimitHold, at: number): string {
  const when = until === null ? '' : `; it will be looked at again ${ahead(until, at)}`
  const needed = amount.toLocaleString('en')
  return `it needs ${needed} of ${oneLine(key)}, which ${HOLD_MEANS[reason]}${when}`
}

const ORDER_MEANS: { readonly [O in RoundRow['order']]: string } = {
  'first-fit': 'shuffled by the seed, and the first that fits takes the job',
  rotate:
    'shuffled by the seed, and each search goes on behind the provider that was assigned last',
  score: 'by stake times health, equal ones for each job as the seed has it',
}

/** How a cancelled attempt ended. */
const CANCEL_MEANS: { readonly [R in CancelReason]: string } = {
  ack_timeout: 'was not acknowledged in time',
  declined: 'was declined',
  released: 'was given back by its worker',
  disowned: 'was lost: its worker came back without it',
  worker_lost: 'was lost with its worker',
  provider_fail: 'failed',
  provider_status: 'was taken back, because the provider lost its right to work',
  over_cap: 'was taken back, because the provider held more than it may',
  job_ended: 'ended with its job',
}

const END_OF_ATTEMPT = {
  ...CANCEL_MEANS,
  timeout: 'took longer than the timeout of the job allows',
} as const

const LEASE_MEANS: { readonly [S in LeaseStatus]: (lease: LeaseRow) => string } = {
  ACTIVE: (lease) =>
    lease.isAcked
      ? `runs until ${isoUtc(lease.tDeadline)} at most`
      : `to be acknowledged by ${isoUtc(ackDueAt({ tStart: lease.tStart, terms: lease }))}`,
  RENEWED: ({ renewals, tDeadline }) =>
    `renewed ${times(renewals, 'time')}, runs until ${isoUtc(tDeadline)} at most`,
  COMPLETED: () => 'completed',
  CANCELLED: ({ isAcked }) => (isAcked ? 'ended early' : 'ended before it was acknowledged'),
  EXPIRED: ({ tDeadline }) => `ran out at ${isoUtc(tDeadline)}`,
}

const END_MEANS: { readonly [R in KnownEndReason]: string } = {
  ttl_abs: 'it was not done within the time that it had from its acceptance',
  ttl_rel: 'it was not done within the time that it had from its first assignment',
  declined: 'it was declined too often',
  permanent_error: 'its provider reported an error that no retry can mend',
  retries_exhausted: 'its last retry failed',
  retry_window_exhausted: 'its time for retries was over',
  outcome_unknown: 'an attempt may have booked, and nobody could find out',
  worker_lost: 'its workers disappeared while they had it, too often in a row',
  dependency_failed: 'a job that it depends on did not complete, or does not exist',
}

function waiting(explanation: WaitingExplanation): string[] {
  const { job, at, waitReason, place, of, earliestAt } = explanation
  return [
    `${named(job)}: waiting ${durationText(at - job.enqueueTs)} (since ${isoUtc(job.enqueueTs)}).`,
    WAIT_MEANS[waitReason](explanation),
    ...optionLines(job),
    ...(explanation.session === null
      ? queueLines(explanation)
      : [`${ordinal(place)} of ${of} waiting in its session.`]),
    ...providerLines(explanation, at),
    ...earlierLines(explanation),
    `The earliest time it can run: ${earliestAt === null ? 'not known' : ahead(earliestAt, at)}.`,
  ]
}

/** A score line appears only where the score decides. Under fair shares the score would tell the reader nothing. */
function queueLines(explanation: WaitingExplanation): string[] {
  const { job, place, of, fairness, priority, score, terms } = explanation
  if (fairness === 'tenant') {
    const rank = priority === 0 ? '' : `, with priority ${priority}`
    return [`${ordinal(place)} of ${of} in its requester's queue of kind ${job.kind}${rank}.`]
  }
  const [fee, size, tier] = [terms.fee, terms.size, terms.tier].map((n) => n.toLocaleString('en'))
  return [
    `${ordinal(place)} of ${of} in the queue of kind ${job.kind}.`,
    `Its score is ${score.toFixed(4)}: fee ${fee}, size ${size}, tier ${tier} of 1,000,000 each, age ${durationText(1_000 * terms.ageSecs)}.`,
  ]
}

/** Lists the fitting providers first, because a long list is cut off. */
function providerLines({ providers, attempts }: WaitingExplanation, at: number): string[] {
  const fitting = providers.filter(({ refusal }) => refusal === null)
  const refusing = providers.filter(({ refusal }) => refusal !== null)
  const sorted = [...fitting, ...refusing]
  const hasDeclined = (id: ProviderId): boolean =>
    attempts.findLast(({ lease }) => lease.providerId === id)?.ended?.reason === 'declined'
  const listed = isUnoffered(providers) ? UNFIT_LISTED : PROVIDERS_LISTED
  const lines = sorted.slice(0, listed).map((check) => {
    const { id, refusal, slots, until, limit, advice } = check
    if (refusal === null) return `${id}: would fit.`
    if (limit !== null) return `${id}: ${refusal} – ${limitText(limit, at)}.`
    if (advice !== null) return `${id}: ${refusal} – ${advice}`
    const end = until === null ? '' : `, until ${isoUtc(until)} (for ${durationText(until - at)})`
    if (refusal === 'denied_for_job' && hasDeclined(id)) {
      return `${id}: ${refusal} – it declined this job${end}.`
    }
    return `${id}: ${refusalText(refusal, slots)}${end}.`
  })
  const counts = new Map<string, number>()
  for (const { refusal } of sorted.slice(listed)) {
    const verdict = refusal ?? 'would fit'
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
  }
  if (counts.size === 0) return lines
  const rest = [...counts].map(([verdict, count]) => `${count} ${verdict}`)
  return [...lines, `And ${sorted.length - listed} more: ${rest.join(', ')}.`]
}

function assigned({ job, at, attempts, attemptsBefore, end }: AssignedExplanation): string[] {
  const lines = [`${named(job)} is ${job.status}; it was enqueued at ${isoUtc(job.enqueueTs)}.`]
  lines.push(...optionLines(job))
  if (attempts.length === 0) lines.push('It was never assigned.')
  if (attemptsBefore > 0) lines.push(`Earlier attempts, left out here: ${attemptsBefore}.`)
  for (const attempt of attempts) lines.push(...attemptLines(attempt))
  const { proofAwaitedSince: since } = job
  if (since !== null) {
    lines.push(`Its proof is awaited for ${durationText(at - since)}, since ${isoUtc(since)}.`)
  }
  return end === null ? lines : [...lines, ...endLines(end, job)]
}

/** One line for each earlier attempt of a job that waits again. */
function earlierLines({ attempts, attemptsBefore }: WaitingExplanation): string[] {
  const lines = attemptsBefore > 0 ? [`Earlier attempts, left out here: ${attemptsBefore}.`] : []
  return [...lines, ...attempts.map((one) => `Attempt ${one.lease.attempt}: ${courseOf(one)}`)]
}

/** The provider of an attempt, and how the attempt went. */
function courseOf({ lease, ended }: AttemptExplanation): string {
  const { providerId, status, tStart } = lease
  const went =
    ended?.reason == null || ended.reason === 'deadline' ? null : END_OF_ATTEMPT[ended.reason]
  const isFailure = ended?.reason === 'provider_fail' && ended.code !== null
  const code = isFailure ? ` with ${ended.code}` : ''
  const why = isFailure && ended.message !== null ? `: ${oneLine(ended.message)}` : '.'
  const how = went ?? LEASE_MEANS[status](lease)
  // CANCELLED is every early end, and reads as if somebody had cancelled the job.
  const shown = status === 'CANCELLED' ? '' : ` (${status})`
  return `given to ${providerId} at ${isoUtc(tStart)}, ${how}${code}${shown}${why}`
}

function attemptLines(explained: AttemptExplanation): string[] {
  const { lease, round } = explained
  const { providerId, attempt } = lease
  const lines = [courseOf(explained)]
  if (round === null) {
    lines.push('its round is no longer kept.')
  } else {
    const { height, seed, batchSize, order, providers, place, passedOver } = round
    const first = providers.length < PROVIDERS_KEPT ? '' : `, the first ${PROVIDERS_KEPT}`
    lines.push(
      `round ${height} with ${times(batchSize, 'job')} in its batch, seed ${seed}.`,
      `order of the providers (${ORDER_MEANS[order]})${first}: ${providers.join(', ')}.`,
    )
    if (place !== null) lines.push(`${providerId} was asked as number ${place}.`)
    lines.push(...passedOver.map(passedOverLine))
    if (passedOver.length === 0 && place === 1) lines.push('nobody was passed over.')
  }
  return lines.map((line) => `Attempt ${attempt}: ${line}`)
}

function passedOverLine({ providerId, refusal }: PassedOver): string {
  const why = refusal === null ? 'the reason is not kept' : refusalText(refusal, null)
  return `${providerId} was passed over: ${why}.`
}

function endLines({ status, reason, endedAt, digest }: JobEnd, { enqueueTs }: JobRow): string[] {
  const when =
    endedAt === null
      ? ''
      : ` at ${isoUtc(endedAt)}, ${durationText(endedAt - enqueueTs)} after it was enqueued`
  const why = reason === null ? '' : `: ${reason}${meaningOf(reason)}`
  const lines = [`It ended ${status}${when}${why}.`]
  return digest === null ? lines : [...lines, `The digest of its result is ${digest}.`]
}

function budgetText(session: WaitingExplanation['session'], at: number): string {
  if (session === null) return 'Its budget is used up.'
  const { inFlight, inFlightMax, nextTokenAt, orgRef, platform } = session
  const key = `${oneLine(orgRef)} at ${oneLine(platform)}`
  if (inFlight >= inFlightMax) {
    return `${inFlight} of ${times(inFlightMax, 'attempt')} of ${key} are under way: it waits for one to end.`
  }
  const when = nextTokenAt === null ? 'not known' : ahead(nextTokenAt, at)
  return `The budget of ${key} is used up; the next token: ${when}.`
}

/** A platform's own reason needs no explanation of ours: then the text is empty. */
function meaningOf(reason: EndReason): string {
  const means = END_MEANS[reason as KnownEndReason] as string | undefined
  return means === undefined ? '' : ` – ${means}`
}

function refusalText(refusal: Refusal, slots: number | null): string {
  const means = REFUSAL_MEANS[refusal]
  return `${refusal} – ${typeof means === 'string' ? means : means(slots)}`
}

function named({ id, kind, model }: JobRow): string {
  return `Job ${id} (${model === null ? kind : `${kind} ${oneLine(model)}`})`
}

function ahead(time: number, at: number): string {
  return time <= at ? 'now' : `${isoUtc(time)}, in ${durationText(time - at)}`
}

/** 1st, 2nd, 3rd, 4th, 11th, 21st. */
function ordinal(n: number): string {
  const isTeen = Math.floor(n / 10) % 10 === 1
  const suffix = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')
  return `${n.toLocaleString('en')}${suffix}`
}

function times(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
