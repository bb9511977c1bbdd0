/** Stands for a booking number that cannot be shown (RECEIPT-3). No number can be written like it. */
export const UNREADABLE = '[unreadable]'

const BOOKING_NUMBER = /^[A-Za-z0-9 ._:/#+=-]{1,128}$/

/**
 * The booking number as it is kept, charged with and shown (RECEIPT-3); null where the platform gave none. A platform
 * may say anything here: a page of text, or characters that change what a terminal shows.
 */
export function bookingNumberOf(given: unknown): string | null {
  if (typeof given === 'number') {
    // Beyond that JSON has lost digits already, and a wrong number is worse than none.
    return Number.isSafeInteger(given) ? String(given) : UNREADABLE
  }
  if (typeof given !== 'string') return null
  const text = given.trim()
  if (text === '') return null
  return BOOKING_NUMBER.test(text) ? text : UNREADABLE
}
