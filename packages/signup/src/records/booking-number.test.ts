import { encodeCbor } from '@fairlead/core'
import { describe, expect, it } from 'vitest'
import { bookingNumberOf, UNREADABLE } from './booking-number.ts'
import { decodeOutput } from './registration-output.ts'

describe('booking numbers', () => {
  it.each([
    ['B-1007', 'B-1007'],
    ['Qm9va2luZzoxMjM=', 'Qm9va2luZzoxMjM='],
    ['/v1/bookings/7#seat.2_a+b', '/v1/bookings/7#seat.2_a+b'],
    ['No 17 of 20', 'No 17 of 20'],
    [' 17\r\n', '17'],
    ['x'.repeat(128), 'x'.repeat(128)],
    [17, '17'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    ['', null],
    [' ', null],
    [null, null],
    [undefined, null],
    [{ number: 17 }, null],
  ])('RECEIPT-3: %j is kept as %j', (given, kept) => {
    expect(bookingNumberOf(given)).toBe(kept)
  })

  it.each([
    ['one character too many', 'x'.repeat(129)],
    ['10 kB', 'B-7'.repeat(3_500)],
    ['a colour of a terminal', '\u001b[31mB-7'],
    ['a line break', 'B\n7'],
    ['a null', 'B\u00007'],
    ['a control character of Latin-1', 'B\u009b7'],
    ['a bidi override', 'B\u202e7'],
    ['a bidi isolate', '\u2066B7'],
    ['a character without a width', 'B\u200b7'],
    ['half a surrogate pair', 'B\ud8007'],
    ['a letter that looks like another', '\u0412-7'],
    ['markup', '<b>7</b>'],
    ['the marker', UNREADABLE],
    ['a number whose digits JSON has lost', Number.MAX_SAFE_INTEGER + 1],
    ['a fraction', 1.5],
  ])('RECEIPT-3: %s is a marker instead', (_, given) => {
    expect(bookingNumberOf(given)).toBe('[unreadable]')
    const output = { outcome: 'booked', booking_number: given, fee_status: 'none' }
    if (typeof given === 'number' || !given.isWellFormed()) return
    // The output of a worker that is none of ours.
    expect(decodeOutput(encodeCbor(output))?.bookingNumber).toBe('[unreadable]')
  })
})
