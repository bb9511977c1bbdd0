import { dateText } from './date-text.ts'
import type { Receipt } from './receipt.ts'

/** Which text is told. */
export type MessageName =
  | 'queued'
  | 'order'
  | 'trying'
  | 'throttled'
  | 'canceling'
  | 'success'
  | 'waitlisted'
  | 'full'
  | 'failed'
  | 'unknown'
  | 'canceled'

/** What the texts call things. */
export interface Names {
  /** The class, camp or slot. */
  readonly program: string
  /** The booking site. */
  readonly provider: string
  /** Whoever runs this service. */
  readonly service: string
  /** That of the session, such as `Europe/Berlin`. */
  readonly timeZone: string
}

/** So long after the opening an attempt or an answer still came "right when it opened" (MESSAGE-4). */
const AT_OPENING_MS = 2_000

/** What is told of a registration as it stands now (MESSAGE-1). */
export function messageFor(
  receipt: Receipt,
  names: Names,
): { readonly name: MessageName; readonly text: string } {
  const name = nameOf(receipt)
  const shown = { ...names, program: inLine(names.program), provider: inLine(names.provider) }
  const { bookingNumber } = receipt
  const told = { ...receipt, bookingNumber: bookingNumber === null ? null : inLine(bookingNumber) }
  return { name, text: lines(TEXTS[name](told, shown), `Reference: ${receipt.reference}`) }
}

/** A name that somebody chose must not begin a line of ours (TERMINAL-1). */
function inLine(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

/** The answer to "how do you prioritize?": the seed's template. */
export function orderMessage(service: string): string {
  return lines(
    `We attempt queued registrations in the order they were scheduled with ${service} (first-come-first-served).`,
    'The provider ultimately decides who gets the seat, but we log everything in your audit trail.',
  )
}

function nameOf(receipt: Receipt): MessageName {
  switch (receipt.result) {
    case 'booked':
      return 'success'
    case 'waitlisted':
      return 'waitlisted'
    case 'canceled':
      return 'canceled'
    case 'pending':
      if (receipt.isCancelNoted) return 'canceling'
      if (receipt.attempts + receipt.unsent === 0) return 'queued'
      return wasThrottledAtOpening(receipt) ? 'throttled' : 'trying'
    case 'failed':
      if (receipt.reason === 'sold_out') return 'full'
      return mayBeBooked(receipt) ? 'unknown' : 'failed'
  }
}

type Text = (receipt: Receipt, names: Names) => string

/**
 * The five templates of the seed have its wording to the letter, and are told where every word of them is true
 * (MESSAGE-4). All other texts are our own, filled from what really happened (MESSAGE-2, MESSAGE-3).
 */
const TEXTS: Readonly<Record<MessageName, Text>> = {
  queued: ({ opensAt }, { program, provider, service, timeZone }) =>
    lines(
      `You’re queued for ${program} at ${dateText(opensAt, timeZone)}.`,
      `We’ll attempt registration first-come-first-served based on when people scheduled with ${service}.`,
      `Final availability is determined by ${provider}.`,
      noChargeNow(service),
    ),
  order: (_, { service }) => orderMessage(service),
  trying: (receipt, names) => lines(progress(receipt, names), noChargeNow(names.service)),
  throttled: () =>
    lines(
      'The provider rate-limited requests right at open time, so we retried for a short window.',
      'If we can’t secure a spot within that window, we’ll mark the attempt as failed and you won’t be charged.',
      'You can review the timeline in your audit trail.',
    ),
  canceling: (_, { program, provider }) =>
    lines(
      `You canceled your registration for ${program} while an attempt was under way.`,
      `If ${provider} has booked it, the booking stands. Otherwise the registration is canceled.`,
    ),
  success: () =>
    lines(
      'Registration succeeded — you’re in.',
      'You’ll see a receipt in view my registrations and the full timeline in audit ….',
    ),
  waitlisted: (receipt, { program, provider }) =>
    lines(
      `${firstAttempt(receipt)}. ${program} had no free spot for you, and ${provider} put you on its waitlist.`,
      `That is not a seat: ${provider} decides if one becomes free for you.`,
      NOT_CHARGED,
    ),
  full: (receipt, { program, provider }) =>
    isAtOpening(receipt, receipt.firstAttemptAt)
      ? lines(
          'We attempted registration right when it opened, but the provider reported the session was already full.',
          NOT_CHARGED,
        )
      : lines(
          `${firstAttempt(receipt)}, but ${provider} reported that ${program} was already full.`,
          NOT_CHARGED,
        ),
  failed: (receipt, { program, provider }) =>
    lines(
      receipt.attempts === 0
        ? `Registration for ${program} did not take place: ${reasonText(receipt, provider)}.`
        : `${firstAttempt(receipt)}, and it did not succeed: ${reasonText(receipt, provider)}.`,
      NOT_CHARGED,
    ),
  unknown: (receipt, { program, provider }) =>
    lines(
      `Nobody knows if ${program} was booked: ${causeText(receipt, provider)}.`,
      `We make no further attempt, so that you are not booked twice. Please check with ${provider}.`,
      VIA_AUDIT,
    ),
  canceled: (_, { program }) =>
    lines(`Your registration for ${program} was canceled.`, NOT_CHARGED),
}

const VIA_AUDIT = 'You can view the attempt timeline via view my registrations → audit ….'
const NOT_CHARGED = `You were not charged. ${VIA_AUDIT}`

function noChargeNow(service: string): string {
  return `No charge now — the ${service} success fee is charged only if registration succeeds.`
}

function progress(receipt: Receipt, { program, provider }: Names): string {
  const { attempts } = receipt
  if (attempts === 0) {
    return `We are attempting registration for ${program}, but no request has reached ${provider} yet.`
  }
  const many = attempts === 1 ? 'once' : `${attempts} times`
  return lines(
    `We have attempted registration for ${program} ${many} so far. The first attempt was ${delayText(receipt)}.`,
    `${provider} has neither confirmed a booking nor refused it for good yet.`,
  )
}

/** What a failure means to people; words that nobody knows are not shown. */
const REASONS: Readonly<Record<string, string>> = {
  validation_error: 'the details of the registration were not accepted',
  not_found: '{provider} does not know this session',
  auth_error: 'our access to {provider} for this organisation was not accepted',
  ttl_abs: 'its time was over before an attempt was made',
  ttl_rel: 'its time was over before an attempt was made',
  declined: 'no worker took it on',
}

function reasonText(receipt: Receipt, provider: string): string {
  const { reason } = receipt
  if (reason === 'retry_window_exhausted') return windowText(receipt, provider)
  const known = reason !== null && Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined
  return (known ?? '{provider} refused it').replaceAll('{provider}', provider)
}

function windowText(receipt: Receipt, provider: string): string {
  const { attempts, firstAttemptAt, endedAt, throttledAt } = receipt
  if (attempts === 0) {
    return `no request reached ${provider} within the time that there is for retries`
  }
  const took =
    firstAttemptAt === null || endedAt === null
      ? ''
      : ` in ${durationText(endedAt - firstAttemptAt)}`
  const times = attempts === 1 ? 'one attempt' : `${attempts} attempts${took}`
  const limited = throttledAt === null ? '' : `, and ${provider} limited how often we may ask`
  return `${times} brought no spot within the time that there is for retries${limited}`
}

/** Why nobody knows: by the report of the last attempt. */
function causeText({ lastReport }: Receipt, provider: string): string {
  if (lastReport?.code === 'unclear_answer') {
    return `${provider} answered, but its answer does not say if it booked`
  }
  if (lastReport?.code === 'timeout' || lastReport?.code === 'network') {
    return `${provider} did not answer, and we could not find out`
  }
  if (lastReport?.http != null) {
    return `the last answer of ${provider} leaves it open, and we could not find out`
  }
  return 'an attempt was cut off while it was under way, and we could not find out'
}

/** An attempt may have booked and no answer has told, or its time was over with attempts made. */
function mayBeBooked({ reason, attempts }: Receipt): boolean {
  const isOver = reason === 'ttl_abs' || reason === 'ttl_rel'
  return reason === 'outcome_unknown' || (isOver && attempts > 0)
}

function wasThrottledAtOpening(receipt: Receipt): boolean {
  return receipt.attempts > 1 && isAtOpening(receipt, receipt.throttledAt)
}

function isAtOpening({ opensAt }: Receipt, at: number | null): boolean {
  return at !== null && at <= opensAt + AT_OPENING_MS
}

function firstAttempt(receipt: Receipt): string {
  if (receipt.firstAttemptDelayMs === null) return 'We attempted registration'
  return `We attempted registration ${delayText(receipt)}`
}

function delayText({ firstAttemptDelayMs, opensAt, queuedAt }: Receipt): string {
  const event = queuedAt > opensAt ? 'you scheduled' : 'it opened'
  return `${durationText(firstAttemptDelayMs ?? 0)} after ${event}`
}

/** Milliseconds while they matter, then tenths of a second, then minutes. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${Math.floor(ms / 100) / 10} s`
  const seconds = Math.floor(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

function lines(...text: readonly string[]): string {
  return text.join('\n')
}
