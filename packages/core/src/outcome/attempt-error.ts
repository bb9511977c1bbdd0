import { utf8, utf8Length } from '../encoding/bytes.ts'
import { encodeCbor } from '../encoding/cbor.ts'
import type { PlatformPolicy } from '../policy/platform-policy.ts'
import type { LeaseFailure } from '../ports/lease-source.ts'
import { isNamedCode } from './classify.ts'

/** Why an attempt failed, in the form in which it is kept (FAIL-1). */
export interface AttemptError {
  /** 1 to 64 of a–z, 0–9 and `_.-`. */
  readonly code: string
  /** For people; at most 4 KiB. */
  readonly message: string | null
  /** Canonical CBOR, at most 16 KiB. */
  readonly details: Uint8Array | null
}

const CODE_MAX = 64
const MESSAGE_MAX_BYTES = 4_096
const DETAILS_MAX_BYTES = 16_384
/** At the end of a message that was longer. */
const CUT_MARK = ' …'

/** What the engine itself says of attempts that ended without a word of their workers. */
export const ENGINE_ERRORS = {
  ACK_TIMEOUT: error('ack_timeout', 'The worker did not acknowledge the job in time.'),
  LEASE_EXPIRED: error(
    'lease_expired',
    'The lease reached its deadline: the worker neither finished nor renewed it.',
  ),
  WORKER_LOST: error(
    'worker_lost',
    'The worker disappeared while it had the job: it was killed, crashed or lost its network.',
  ),
  PROOF_INVALID: error('proof_invalid', 'No valid proof of the work was given in time.'),
} as const

/** A failure as its worker reported it, cut to what is kept. Nothing a worker says of one is refused. */
export function attemptError({ code, message, details }: LeaseFailure): AttemptError {
  return {
    code: keptCode(code),
    message: typeof message === 'string' && message !== '' ? keptMessage(message) : null,
    details: details instanceof Uint8Array ? keptDetails(details) : null,
  }
}

/**
 * The code of a registration's attempt: one that the rules, our executor or the platform's taxonomy name.
 * What a booking site says in its own words may be about people, and is kept nowhere (FAIL-5).
 */
export function registrationCode(
  code: unknown,
  { errorTaxonomy }: Pick<PlatformPolicy, 'errorTaxonomy'>,
): string {
  if (typeof code !== 'string') return 'other'
  const isKnown =
    isNamedCode(code, errorTaxonomy) || EXECUTOR_CODES.has(code) || /^http_\d{3}$/.test(code)
  return isKnown ? code : 'other'
}

/** What the worker of a registration says where it has no answer of the platform to tell. */
const EXECUTOR_CODES: ReadonlySet<string> = new Set([
  'error',
  'invalid_result',
  'not_sent',
  'unclear_answer',
  'adapter_error',
  'outcome_unknown',
])

/** Every character counts once. The SDK folds capitals before it reports a code. */
function keptCode(code: unknown): string {
  if (typeof code !== 'string' || code === '') return 'error'
  // No character has more than two units.
  return Array.from(code.slice(0, 2 * CODE_MAX))
    .slice(0, CODE_MAX)
    .join('')
    .replaceAll(/[^a-z0-9_.-]/gu, '_')
}

function keptMessage(given: string): string {
  // A UTF-16 unit takes at least one byte, so the units behind these are never kept.
  const message = given.slice(0, MESSAGE_MAX_BYTES + 1).toWellFormed()
  if (given.length <= MESSAGE_MAX_BYTES && utf8Length(message) <= MESSAGE_MAX_BYTES) return message
  const room = MESSAGE_MAX_BYTES - utf8Length(CUT_MARK)
  // A character that the cut has divided is left out.
  const kept = new TextDecoder().decode(utf8(message).subarray(0, room), { stream: true })
  return kept + CUT_MARK
}

function keptDetails(details: Uint8Array): Uint8Array {
  if (details.length <= DETAILS_MAX_BYTES) return details
  return encodeCbor({ truncated: true, bytes: details.length })
}

function error(code: string, message: string): AttemptError {
  return { code, message, details: null }
}
