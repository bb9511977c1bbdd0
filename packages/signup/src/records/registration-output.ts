import { type CborMap, decodeCbor, encodeCbor } from '@fairlead/core'
import { isPlainObject } from '@fairlead/core/internal'
import { bookingNumberOf } from './booking-number.ts'

/** Whether the success fee was taken: `none` where there is none to take. */
export type FeeStatus = 'none' | 'charged' | 'failed'

/** What a registration that succeeded brought. */
export interface RegistrationOutput {
  readonly outcome: 'booked' | 'waitlisted'
  /** Null where the platform gave none. */
  readonly bookingNumber: string | null
  readonly feeStatus: FeeStatus
  /** Found by a lookup, after the answer to an attempt was lost. */
  readonly isLookedUp: boolean
}

/** The output of the job: canonical CBOR of a map. */
export function encodeOutput(output: RegistrationOutput): Uint8Array {
  const { outcome, bookingNumber, feeStatus, isLookedUp } = output
  const map: CborMap = {
    outcome,
    fee_status: feeStatus,
    ...(bookingNumber === null ? {} : { booking_number: bookingNumber }),
    ...(isLookedUp ? { looked_up: true } : {}),
  }
  return encodeCbor(map)
}

/** Null for what is no output of a registration. Any worker may have written it (RECEIPT-3). */
export function decodeOutput(output: Uint8Array): RegistrationOutput | null {
  const map = decoded(output)
  if (!isPlainObject(map)) return null
  const { outcome, booking_number: number, fee_status: fee, looked_up: isLookedUp } = map
  if (outcome !== 'booked' && outcome !== 'waitlisted') return null
  return {
    outcome,
    bookingNumber: bookingNumberOf(number),
    feeStatus: fee === 'charged' || fee === 'failed' ? fee : 'none',
    isLookedUp: isLookedUp === true,
  }
}

function decoded(output: Uint8Array): unknown {
  try {
    return decodeCbor(output)
  } catch {
    return null
  }
}
