import { encodeCbor, type LeaseFailure, type LeaseId } from '@fairlead/core'

/** The words that a worker fails a lease with. */
export type FailureWords = Pick<
  LeaseFailure,
  'code' | 'permanent' | 'message' | 'details' | 'retryAfterMs'
>

const CODES = ['oom', 'ENOMEM', 'exit-9', 'disk full!', '💥é_1', '', 'x'.repeat(80)] as const
const MESSAGES = [undefined, 'it broke', '', 'é'.repeat(2_048), 'é'.repeat(2_049)] as const
const DETAILS = [
  undefined,
  encodeCbor({ stack: 'at work (job.ts:7)' }),
  encodeCbor({ stack: 'y'.repeat(16_384) }),
] as const
/** In ms. `LONG_WAIT_MS` is more than a failure may ask for. */
const WAITS = [undefined, undefined, 0, 700, 2_500, 6_000] as const
const LONG_WAIT_MS = 90_000_000

/**
 * Why a lease fails, if it does. The same words however often it is failed, and by whom: what becomes of the
 * job must not depend on which of the calls arrives first.
 */
export function failureWords(leaseId: LeaseId): FailureWords {
  const byte = (place: number): number =>
    Number.parseInt(leaseId.slice(2 + 2 * place, 4 + 2 * place), 16) || 0
  const oneOf = <T>(list: readonly T[], place: number): T => list[byte(place) % list.length] as T
  const isOwnFault = byte(0) % 5 === 0
  const message = oneOf(MESSAGES, 2)
  const details = oneOf(DETAILS, 3)
  const retryAfterMs = byte(4) === 0 ? LONG_WAIT_MS : oneOf(WAITS, 5)
  return {
    code: isOwnFault ? 'invalid_input' : oneOf(CODES, 1),
    permanent: isOwnFault,
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}
