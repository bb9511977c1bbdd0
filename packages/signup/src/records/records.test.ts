import { encodeCbor, type JobId, type JobStatus, parsePolicy, redactor } from '@fairlead/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messageFor, type Names, orderMessage } from './messages.ts'
import { type Receipt, type ReceiptInput, receiptOf } from './receipt.ts'
import { freeReference, readReference, referenceOf } from './reference.ts'
import { decodeOutput, encodeOutput } from './registration-output.ts'

const JOB = `0x${'ab'.repeat(32)}` as JobId
const OPENS = 1_760_000_000_000
const NAMES: Names = { program: 'Swimming', provider: 'Bookeo', service: 'SignupAssist' }
const redact = redactor(parsePolicy({}, 'queue'), new Uint8Array(32))

const BOOKED = encodeOutput({
  outcome: 'booked',
  bookingNumber: 'B-7',
  feeStatus: 'charged',
  isLookedUp: false,
})

function input(given: Partial<ReceiptInput> & { readonly status?: JobStatus } = {}): ReceiptInput {
  const { status = 'COMPLETED', ...rest } = given
  return {
    reference: referenceOf(JOB),
    job: { id: JOB, status, endedAt: OPENS + 4_321 },
    registration: {
      ...{ platform: 'bookeo', orgRef: 'org-1', eventId: 'evt-1', userId: 'u1' },
      ...{ scheduledTime: OPENS, queuedAt: OPENS - 60_000 },
    },
    rank: 4,
    reason: null,
    leases: [
      { tStart: OPENS + 1_900, isAcked: true },
      { tStart: OPENS + 200, isAcked: true },
      { tStart: OPENS + 100, isAcked: false },
    ],
    output: null,
    timeline: [
      {
        at: OPENS + 210,
        action: 'jobStarted',
        details: { lease: '0x01', parent_email: 'a@b.org' },
      },
    ],
    redact,
    ...rest,
  }
}

describe('receipts', () => {
  it('RECEIPT-1: holds what was attempted and what became of it', () => {
    expect(receiptOf(input({ output: BOOKED }))).toEqual({
      reference: referenceOf(JOB),
      jobId: JOB,
      platform: 'bookeo',
      orgRef: 'org-1',
      eventId: 'evt-1',
      user: 'hmac:3703eee47f4bc689',
      result: 'booked',
      reason: null,
      bookingNumber: 'B-7',
      feeStatus: 'charged',
      rank: 4,
      opensAt: OPENS,
      queuedAt: OPENS - 60_000,
      firstAttemptAt: OPENS + 200,
      firstAttemptDelayMs: 200,
      endedAt: OPENS + 4_321,
      // The lease that nobody acked was not sent.
      attempts: 2,
      wasThrottled: false,
      timeline: [
        {
          at: OPENS + 210,
          action: 'jobStarted',
          details: { lease: '0x01', parent_email: '[redacted]' },
        },
      ],
    })
  })

  it.each<[JobStatus, string | null, Receipt['result']]>([
    ['QUEUED', null, 'pending'],
    ['RUNNING', null, 'pending'],
    ['FAILED', 'sold_out', 'failed'],
    ['EXPIRED', 'ttl_abs', 'failed'],
    ['CANCELED', null, 'canceled'],
  ])('RECEIPT-1: a job that is %s with %s is %s', (status, reason, result) => {
    const receipt = receiptOf(input({ status, reason }))
    expect(receipt).toMatchObject({ result, reason, bookingNumber: null, feeStatus: 'none' })
  })

  it('RECEIPT-1: who joins a session that is open is late from then on', () => {
    const { registration } = input()
    const late = { ...registration, queuedAt: OPENS + 150 }
    expect(receiptOf(input({ registration: late })).firstAttemptDelayMs).toBe(50)
  })

  it('an output is read as it was written, and anything else is none', () => {
    fc.assert(
      fc.property(
        fc.record({
          outcome: fc.constantFrom('booked' as const, 'waitlisted' as const),
          bookingNumber: fc.option(fc.string({ unit: 'grapheme' }), { nil: null }),
          feeStatus: fc.constantFrom('none' as const, 'charged' as const, 'failed' as const),
          isLookedUp: fc.boolean(),
        }),
        (output) => {
          expect(decodeOutput(encodeOutput(output))).toEqual(output)
        },
      ),
    )
    expect(decodeOutput(new Uint8Array([1, 2, 3]))).toBeNull()
    expect(decodeOutput(encodeCbor({ outcome: 'maybe' }))).toBeNull()
    expect(decodeOutput(encodeCbor([]))).toBeNull()
  })
})

describe('references', () => {
  const ids = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as JobId)

  it('RECEIPT-2: six characters that cannot be taken for others, the same each time', () => {
    fc.assert(
      fc.property(ids, fc.nat(1_000), (id, n) => {
        const reference = referenceOf(id, n)
        expect(reference).toMatch(/^SCH-[2-9A-HJKMNP-TV-Z]{6}$/)
        expect(referenceOf(id, n)).toBe(reference)
        expect(readReference(reference)).toBe(reference)
      }),
    )
    // Pinned: a reference that was told must be found after an update, too.
    expect(referenceOf(JOB)).toBe('SCH-WRCRGX')
  })

  it('RECEIPT-2: one that belongs to another job is passed over', () => {
    const taken = new Set([referenceOf(JOB, 0), referenceOf(JOB, 1)])
    expect(freeReference(JOB, (reference) => taken.has(reference))).toBe(referenceOf(JOB, 2))
    expect(freeReference(JOB, () => false)).toBe(referenceOf(JOB))
    expect(() => freeReference(JOB, () => true)).toThrow('taken')
  })

  it('RECEIPT-2: a thousand jobs in a space that is too small for them all get one of their own', () => {
    const taken = new Set<string>()
    for (let n = 0; n < 1_000; n++) {
      const id = `0x${n.toString(16).padStart(64, '0')}` as JobId
      // Only two letters count, as if there were 900 references and each came up again and again.
      const isTaken = (reference: string) => taken.size < 700 && taken.has(reference.slice(0, 6))
      const reference = freeReference(id, isTaken)
      if (taken.size < 700) expect(taken.has(reference.slice(0, 6))).toBe(false)
      taken.add(reference.slice(0, 6))
    }
  })

  it.each([
    ['sch-7f3k2q', 'SCH-7F3K2Q'],
    ['SCH 7F3 K2Q', 'SCH-7F3K2Q'],
    ['7f3k2q', 'SCH-7F3K2Q'],
    ['SCH-7F3K2', null],
    ['SCH-7F3K2O', null],
    ['', null],
  ])('RECEIPT-2: %j is read as %s', (written, expected) => {
    expect(readReference(written)).toBe(expected)
  })
})

describe('messages', () => {
  const throttled = [{ at: OPENS + 300, action: 'jobRequeued', details: { http: 429 } }]
  const waitlisted = encodeOutput({
    outcome: 'waitlisted',
    bookingNumber: 'W-2',
    feeStatus: 'none',
    isLookedUp: false,
  })
  const unpaid = encodeOutput({
    outcome: 'booked',
    bookingNumber: null,
    feeStatus: 'failed',
    isLookedUp: true,
  })
  const CASES: readonly [string, Parameters<typeof input>[0], string][] = [
    ['queued', { status: 'QUEUED', leases: [] }, "You're queued for Swimming"],
    ['throttled', { status: 'QUEUED', timeline: throttled }, 'we are retrying'],
    [
      'throttled',
      { status: 'FAILED', reason: 'retry_window_exhausted', timeline: throttled },
      'retried for 4.1 s',
    ],
    ['full', { status: 'FAILED', reason: 'sold_out' }, 'was already full'],
    ['success', { output: BOOKED }, 'Your number at Bookeo is B-7.'],
    ['success', { output: unpaid }, "you're in"],
    ['waitlisted', { output: waitlisted }, 'That is not a seat'],
    [
      'failed',
      { status: 'FAILED', reason: 'validation_error' },
      'the details of the registration were not accepted',
    ],
    ['failed', { status: 'FAILED', reason: 'outcome_unknown' }, 'Please check with Bookeo'],
    ['failed', { status: 'FAILED', reason: 'some_word' }, 'Bookeo refused it'],
    [
      'failed',
      { status: 'EXPIRED', reason: 'ttl_abs', leases: [] },
      'did not take place: its time was over',
    ],
    ['canceled', { status: 'CANCELED' }, 'was canceled'],
  ]
  const texts = [
    ...CASES.map(([, given]) => messageFor(receiptOf(input(given)), NAMES).text),
    orderMessage(NAMES.service),
  ]

  it.each(CASES)('MESSAGE-1: %s for %j', (name, given, part) => {
    const message = messageFor(receiptOf(input(given)), NAMES)
    expect(message.name).toBe(name)
    expect(message.text).toContain(part)
    expect(message.text).not.toMatch(/undefined|null|\{|NaN/)
  })

  it.each(texts)('MESSAGE-2: no seat and no charge is promised: %s', (text) => {
    expect(text).not.toMatch(/guarantee|promise|reserved for you|your seat|will get|certain/i)
    // All that is ever said of a charge: that there is none, or only if it succeeds.
    const charges = text.match(/[^.\n]*\bcharged?\b[^.\n]*/gi) ?? []
    for (const sentence of charges) {
      expect(sentence).toMatch(
        /not charged|won't be charged|No charge now: .* only if registration succeeds/,
      )
    }
  })

  it('MESSAGE-2: of a booking nothing is said about the fee, taken or not', () => {
    for (const output of [BOOKED, unpaid]) {
      expect(messageFor(receiptOf(input({ output })), NAMES).text).not.toMatch(/charge|fee|paid/i)
    }
  })

  it('MESSAGE-2: where nobody knows whether it booked, nobody says that it did not', () => {
    const receipt = receiptOf(input({ status: 'FAILED', reason: 'outcome_unknown' }))
    expect(messageFor(receipt, NAMES).text).not.toMatch(/not charged|no seat/)
  })

  it('MESSAGE-3: times are what was measured', () => {
    const after = (ms: number) => {
      const leases = [{ tStart: OPENS + ms, isAcked: true }]
      return messageFor(receiptOf(input({ output: BOOKED, leases })), NAMES).text
    }
    expect(after(0)).toContain('0 ms after it opened')
    expect(after(999)).toContain('999 ms after it opened')
    expect(after(1_999)).toContain('1.9 s after it opened')
    expect(after(125_000)).toContain('2 min 5 s after it opened')
    // The call counts, not the lease; but for one that nobody told of.
    const leases = [
      { tStart: OPENS, isAcked: true, sentAt: OPENS + 321 },
      { tStart: OPENS + 400, isAcked: true, sentAt: null },
    ]
    const told = messageFor(receiptOf(input({ output: BOOKED, leases })), NAMES).text
    expect(told).toContain('321 ms after it opened')
    for (const text of texts) expect(text).not.toMatch(/right when|immediately|instantly|at once/i)
  })

  it('MESSAGE-3: who joined an open session hears how long after that', () => {
    const registration = { ...input().registration, queuedAt: OPENS + 100 }
    const { text } = messageFor(receiptOf(input({ output: BOOKED, registration })), NAMES)
    expect(text).toContain('100 ms after you scheduled')
  })
})
