import { isoUtc } from '@fairlead/core'
import type { Receipt } from './receipt.ts'

/** Which text is told. */
export type MessageName =
  | 'queued'
  | 'order'
  | 'full'
  | 'throttled'
  | 'success'
  | 'waitlisted'
  | 'failed'
  | 'canceled'

/** What the texts call things. */
export interface Names {
  /** The class, camp or slot. */
  readonly program: string
  /** The booking site. */
  readonly provider: string
  /** Whoever runs this service. */
  readonly service: string
}

/** What is told of a registration as it stands now (MESSAGE-1). */
export function messageFor(
  receipt: Receipt,
  names: Names,
): { readonly name: MessageName; readonly text: string } {
  const name = nameOf(receipt)
  return { name, text: TEXTS[name](receipt, names) }
}

/** The answer to "how do you prioritize?". */
export function orderMessage(service: string): string {
  return lines(
    `We attempt queued registrations in the order they were scheduled with ${service} (first-come-first-served).`,
    'The provider ultimately decides who gets the seat, but we log everything in your audit trail.',
  )
}

function nameOf({ result, reason, wasThrottled }: Receipt): MessageName {
  switch (result) {
    case 'booked':
      return 'success'
    case 'waitlisted':
      return 'waitlisted'
    case 'canceled':
      return 'canceled'
    case 'pending':
      return wasThrottled ? 'throttled' : 'queued'
    case 'failed':
      if (reason === 'sold_out') return 'full'
      return wasThrottled && reason === 'retry_window_exhausted' ? 'throttled' : 'failed'
  }
}

type Text = (receipt: Receipt, names: Names) => string

/** In the words of the product; each is filled from what really happened (MESSAGE-2, MESSAGE-3). */
const TEXTS: Readonly<Record<MessageName, Text>> = {
  queued: ({ opensAt, reference }, { program, provider, service }) =>
    lines(
      `You're queued for ${program} at ${isoUtc(opensAt)}. Your reference is ${reference}.`,
      `We'll attempt registration first-come-first-served, based on when people scheduled with ${service}.`,
      `Final availability is determined by ${provider}.`,
      `No charge now: the ${service} success fee is charged only if registration succeeds.`,
    ),
  order: (_, { service }) => orderMessage(service),
  full: (receipt, { program, provider }) =>
    lines(
      `${firstAttempt(receipt)}, but ${provider} reported that ${program} was already full.`,
      `You were not charged. ${timelineOf(receipt)}`,
    ),
  throttled: (receipt, { provider }) =>
    receipt.result === 'pending'
      ? lines(
          `${provider} limited how often we may ask, so we are retrying for a short time.`,
          `If we can't secure a spot within that time, we'll mark the attempt as failed and you won't be charged.`,
          timelineOf(receipt),
        )
      : lines(
          `${provider} limited how often we may ask. ${firstAttempt(receipt)} and retried${retriedFor(receipt)}, without getting a spot.`,
          `The attempt is marked as failed, and you were not charged. ${timelineOf(receipt)}`,
        ),
  success: (receipt, { provider }) =>
    lines(
      `Registration succeeded: you're in.${numberOf(receipt, provider)}`,
      `${firstAttempt(receipt)}.`,
      `You'll see a receipt in your registrations. ${timelineOf(receipt)}`,
    ),
  waitlisted: (receipt, { program, provider }) =>
    lines(
      `${firstAttempt(receipt)}. ${program} had no free spot for you, and ${provider} put you on its waitlist.${numberOf(receipt, provider)}`,
      `That is not a seat: ${provider} decides whether one becomes free for you.`,
      `You were not charged. ${timelineOf(receipt)}`,
    ),
  failed: (receipt, { program, provider }) =>
    lines(
      receipt.firstAttemptAt === null
        ? `Registration for ${program} did not take place: ${reasonText(receipt.reason, provider)}.`
        : `${firstAttempt(receipt)}, and it did not succeed: ${reasonText(receipt.reason, provider)}.`,
      mayBeBooked(receipt)
        ? `We did not try again, so that you are not booked twice. Please check with ${provider}. ${timelineOf(receipt)}`
        : `You were not charged. ${timelineOf(receipt)}`,
    ),
  canceled: (receipt, { program }) =>
    lines(
      `Your registration for ${program} was canceled.`,
      `You were not charged. ${timelineOf(receipt)}`,
    ),
}

/** What a failure means to people; words that nobody knows are not shown. */
const REASONS: Readonly<Record<string, string>> = {
  validation_error: 'the details of the registration were not accepted',
  not_found: '{provider} does not know this session',
  auth_error: 'our access to {provider} for this organisation was not accepted',
  retry_window_exhausted: '{provider} did not take it within the time that there is for retries',
  ttl_abs: 'its time was over before it succeeded',
  ttl_rel: 'its time was over before it succeeded',
  outcome_unknown: '{provider} did not answer, and we could not find out whether it booked',
}

function reasonText(reason: string | null, provider: string): string {
  const known = reason !== null && Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined
  return (known ?? '{provider} refused it').replaceAll('{provider}', provider)
}

/** Nobody knows: no answer came, or its time was over with attempts made. */
function mayBeBooked({ reason, attempts }: Receipt): boolean {
  const isOver = reason === 'ttl_abs' || reason === 'ttl_rel'
  return reason === 'outcome_unknown' || (isOver && attempts > 0)
}

function firstAttempt({ firstAttemptDelayMs, opensAt, queuedAt }: Receipt): string {
  if (firstAttemptDelayMs === null) return 'We attempted registration'
  const event = queuedAt > opensAt ? 'you scheduled' : 'it opened'
  return `We attempted registration ${durationText(firstAttemptDelayMs)} after ${event}`
}

function retriedFor({ firstAttemptAt, endedAt }: Receipt): string {
  if (firstAttemptAt === null || endedAt === null) return ''
  return ` for ${durationText(endedAt - firstAttemptAt)}`
}

function numberOf({ bookingNumber }: Receipt, provider: string): string {
  return bookingNumber === null ? '' : ` Your number at ${provider} is ${bookingNumber}.`
}

function timelineOf({ reference }: Receipt): string {
  return `You can view the attempt timeline under ${reference}.`
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
