import { utf8, utf8Length } from '../encoding/bytes.ts'
import { encodeCbor } from '../encoding/cbor.ts'
import type { PlatformPolicy } from '../policy/platform-policy.ts'
import type { LeaseFailure } from '../ports/lease-source.ts'
import { isNamedCode } from './classify.ts'

/** The stored form of why an attempt failed (FAIL-1). */
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
/** The end of a message that was cut. */
const CUT_MARK = ' …'

/** The engine's errors for attempts that ended without a report of their worker. */
export const ENGINE_ERRORS = {
  ACK_TIMEOUT: error('ack_timeout', 'The worker did not acknowledge the job in time.'),
  LEASE_EXPIRED: error(
    'lease_expired',
    'The lease reached its deadline: the worker neither finished nor renewed it.',
  ),
  TIMEOUT: error('timeout', 'The attempt took longer than the timeout of its job allows.'),
  WORKER_LOST: error(
    'worker_lost',
    'The worker disappeared while it had the job: it was killed, crashed or lost its network.',
  ),
  PROOF_INVALID: error('proof_invalid', 'No valid proof of the work was given in time.'),
} as const

/** A failure as its worker reported it, cut to what is stored. No failure report of a worker is refused. */
export function attemptError({ code, message, details }: LeaseFailure): AttemptError {
  return {
    code: keptCode(code),
    message: typeof message === 'string' && message !== '' ? keptMessage(message) : null,
    details: details instanceof Uint8Array ? keptDetails(details) : null,
  }
}

/**
 * The code of a registration's attempt: one that the rules, our executor or the platform's taxonomy define. A
 * booking site's own words may be about people, and are stored nowhere (FAIL-5).
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

/** The codes that a registration's worker reports if it has no answer of the platform. */
const EXECUTOR_CODES: ReadonlySet<string> = new Set([
  'error',
  'invalid_result',
  'not_sent',
  'unclear_answer',
  'adapter_error',
  'outcome_unknown',
])

/** Cuts by characters, not by UTF-16 units. The SDK folds capitals before it reports a code. */
function keptCode(code: unknown): string {
  if (typeof code !== 'string' || code === '') return 'error'
  // A character has at most two UTF-16 units.
  return Array.from(code.slice(0, 2 * CODE_MAX))
    .slice(0, CODE_MAX)
    .join('')
    .replaceAll(/[^a-z0-9_.-]/gu, '_')
}

function keptMessage(given: string): string {
  // A UTF-16 unit takes at least one byte, so later units are never kept.
  const message = given.slice(0, MESSAGE_MAX_BYTES + 1).toWellFormed()
  if (given.length <= MESSAGE_MAX_BYTES && utf8Length(message) <= MESSAGE_MAX_BYTES) return message
  const room = MESSAGE_MAX_BYTES - utf8Length(CUT_MARK)
  // A character that the cut divides is left out.
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
