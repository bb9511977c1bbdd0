import { encodeCbor, type JobId, type JobStatus, parsePolicy } from '@fairlead/core'
import { redactor } from '@fairlead/core/internal'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messageFor, type Names, orderMessage } from './messages.ts'
import { type Receipt, type ReceiptInput, receiptOf } from './receipt.ts'
import { freeReference, readReference, referenceOf } from './reference.ts'
import { decodeOutput, encodeOutput } from './registration-output.ts'

const JOB = `0x${'ab'.repeat(32)}` as JobId
const OPENS = 1_760_000_000_000
const NAMES: Names = {
  ...{ program: 'Swimming', provider: 'Bookeo', service: 'SignupAssist' },
  timeZone: 'UTC',
}
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
      unsent: 0,
      throttledAt: null,
      isCancelNoted: false,
      lastReport: null,
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
          bookingNumber: fc.option(fc.stringMatching(/^[A-Za-z0-9._:/#+=-]{1,128}$/), {
            nil: null,
          }),
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
  const REFERENCE = `Reference: ${referenceOf(JOB)}`
  const TIMELINE = 'You can view the attempt timeline via view my registrations → audit ….'
  const NOT_CHARGED = `You were not charged. ${TIMELINE}`
  const NO_CHARGE_NOW =
    'No charge now — the SignupAssist success fee is charged only if registration succeeds.'

  /** Attempts that were sent, each with what its worker told; nothing for one whose worker was lost. */
  function attempts(
    ...given: readonly { readonly after: number; readonly told?: Record<string, string | number> }[]
  ): Pick<ReceiptInput, 'leases' | 'timeline'> {
    return {
      leases: given.map(({ after }) => ({ tStart: OPENS, isAcked: true, sentAt: OPENS + after })),
      timeline: given.flatMap(({ after, told }, i) => [
        { at: OPENS + after, action: 'jobAssigned', details: { leaseId: `l${i}`, task: 'book' } },
        ...(told === undefined
          ? []
          : [
              {
                at: OPENS + after + 50,
                action: 'leaseCancelled',
                details: { leaseId: `l${i}`, sentAfterMs: 3, ...told },
              },
            ]),
      ]),
    }
  }
  const sent = (
    after: number,
    told: Record<string, string | number> = { code: 'other', http: 500 },
  ) => attempts({ after, told })
  const tried = (count: number) =>
    attempts(
      ...Array.from({ length: count }, (_, i) => ({
        ...{ after: 210 + i * 1_830, told: { code: 'not_yet_open', http: 409 } },
      })),
    )
  const throttled = (after: number) =>
    attempts(
      { after, told: { code: 'http_429', http: 429 } },
      { after: after + 500, told: { code: 'http_503', http: 503 } },
    )
  const unsent = { leases: [{ tStart: OPENS, isAcked: true, isUnsent: true }], timeline: [] }
  const noted = {
    ...{ leases: [{ tStart: OPENS, isAcked: true }] },
    timeline: [{ at: OPENS, action: 'jobCancelNoted', details: {} }],
  }
  /** A lookup told nothing, after an attempt whose answer was lost. */
  const lookedUp = {
    ...sent(210, { code: 'timeout' }),
    timeline: [
      ...sent(210, { code: 'timeout' }).timeline,
      { at: OPENS + 9_000, action: 'jobAssigned', details: { leaseId: 'look', task: 'lookup' } },
      ...[{ leaseId: 'look', code: 'outcome_unknown', http: 503 }].map((details) => ({
        ...{ at: OPENS + 9_100, action: 'leaseCancelled', details },
      })),
    ],
  }
  const failed = (reason: string, more: Partial<ReceiptInput> = sent(210)) => ({
    ...{ status: 'FAILED' as const, reason, ...more },
  })
  const unknown = (cause: string) => [
    `Nobody knows if Swimming was booked: ${cause}.`,
    'We make no further attempt, so that you are not booked twice. Please check with Bookeo.',
    TIMELINE,
  ]
  const didNot = (reason: string) => [
    `We attempted registration 210 ms after it opened, and it did not succeed: ${reason}.`,
    NOT_CHARGED,
  ]
  const THROTTLED = [
    'The provider rate-limited requests right at open time, so we retried for a short window.',
    'If we can’t secure a spot within that window, we’ll mark the attempt as failed and you won’t be charged.',
    'You can review the timeline in your audit trail.',
  ]
  const FULL = [
    'We attempted registration right when it opened, but the provider reported the session was already full.',
    NOT_CHARGED,
  ]

  /** Every state that a registration can be in, and all that is said of it. */
  const STATES: readonly [string, string, Parameters<typeof input>[0], readonly string[]][] = [
    [
      'waits for its opening or its turn',
      'queued',
      { status: 'QUEUED', leases: [], timeline: [] },
      [
        'You’re queued for Swimming at Thursday, 9 October 2025, 08:53:20 UTC.',
        'We’ll attempt registration first-come-first-served based on when people scheduled with SignupAssist.',
        'Final availability is determined by Bookeo.',
        NO_CHARGE_NOW,
      ],
    ],
    [
      'was attempted 41 times within 75 s',
      'trying',
      { status: 'QUEUED', ...tried(41) },
      [
        'We have attempted registration for Swimming 41 times so far. The first attempt was 210 ms after it opened.',
        'Bookeo has neither confirmed a booking nor refused it for good yet.',
        NO_CHARGE_NOW,
      ],
    ],
    [
      'has its first attempt under way',
      'trying',
      { status: 'RUNNING', ...attempts({ after: 210 }) },
      [
        'We have attempted registration for Swimming once so far. The first attempt was 210 ms after it opened.',
        'Bookeo has neither confirmed a booking nor refused it for good yet.',
        NO_CHARGE_NOW,
      ],
    ],
    [
      'did not reach the site yet',
      'trying',
      { status: 'QUEUED', ...unsent },
      [
        'We are attempting registration for Swimming, but no request has reached Bookeo yet.',
        NO_CHARGE_NOW,
      ],
    ],
    [
      'was throttled at the opening',
      'throttled',
      { status: 'QUEUED', ...throttled(210) },
      THROTTLED,
    ],
    [
      'was throttled later',
      'trying',
      { status: 'QUEUED', ...throttled(2_000) },
      [
        'We have attempted registration for Swimming 2 times so far. The first attempt was 2 s after it opened.',
        'Bookeo has neither confirmed a booking nor refused it for good yet.',
        NO_CHARGE_NOW,
      ],
    ],
    [
      'has a cancel noted',
      'canceling',
      { status: 'RUNNING', ...noted },
      [
        'You canceled your registration for Swimming while an attempt was under way.',
        'If Bookeo has booked it, the booking stands. Otherwise the registration is canceled.',
      ],
    ],
    ...[BOOKED, unpaid].map((output): (typeof STATES)[number] => [
      'is booked',
      'success',
      { output },
      [
        'Registration succeeded — you’re in.',
        'You’ll see a receipt in view my registrations and the full timeline in audit ….',
      ],
    ]),
    [
      'is on the waitlist',
      'waitlisted',
      { output: waitlisted, ...sent(210) },
      [
        'We attempted registration 210 ms after it opened. Swimming had no free spot for you, and Bookeo put you on its waitlist.',
        'That is not a seat: Bookeo decides if one becomes free for you.',
        NOT_CHARGED,
      ],
    ],
    ['found the session full at the opening', 'full', failed('sold_out', sent(2_000)), FULL],
    [
      'found the session full later',
      'full',
      failed('sold_out', sent(2_001)),
      [
        'We attempted registration 2 s after it opened, but Bookeo reported that Swimming was already full.',
        NOT_CHARGED,
      ],
    ],
    [
      'had wrong details',
      'failed',
      failed('validation_error'),
      didNot('the details of the registration were not accepted'),
    ],
    [
      'lacked details that a call needs',
      'failed',
      failed('validation_error', unsent),
      [
        'Registration for Swimming did not take place: the details of the registration were not accepted.',
        NOT_CHARGED,
      ],
    ],
    [
      'names no session',
      'failed',
      failed('not_found'),
      didNot('Bookeo does not know this session'),
    ],
    [
      'has no access',
      'failed',
      failed('auth_error'),
      didNot('our access to Bookeo for this organisation was not accepted'),
    ],
    ['was refused with another code', 'failed', failed('other'), didNot('Bookeo refused it')],
    [
      'ran out of retries',
      'failed',
      failed('retry_window_exhausted', tried(2)),
      didNot('2 attempts in 4.1 s brought no spot within the time that there is for retries'),
    ],
    [
      'ran out of retries after a 429',
      'failed',
      failed('retry_window_exhausted', sent(210, { code: 'http_429', http: 429 })),
      didNot(
        'one attempt brought no spot within the time that there is for retries, and Bookeo limited how often we may ask',
      ),
    ],
    [
      'never reached the site',
      'failed',
      failed('retry_window_exhausted', unsent),
      [
        'Registration for Swimming did not take place: no request reached Bookeo within the time that there is for retries.',
        NOT_CHARGED,
      ],
    ],
    [
      'was declined by every worker',
      'failed',
      failed('declined', { leases: [], timeline: [] }),
      ['Registration for Swimming did not take place: no worker took it on.', NOT_CHARGED],
    ],
    [
      'expired before an attempt',
      'failed',
      { status: 'EXPIRED', reason: 'ttl_abs', leases: [], timeline: [] },
      [
        'Registration for Swimming did not take place: its time was over before an attempt was made.',
        NOT_CHARGED,
      ],
    ],
    [
      'expired after an attempt',
      'unknown',
      { status: 'EXPIRED', reason: 'ttl_rel', ...attempts({ after: 210 }) },
      unknown('an attempt was cut off while it was under way, and we could not find out'),
    ],
    [
      'lost its answer',
      'unknown',
      failed('outcome_unknown', sent(210, { code: 'timeout' })),
      unknown('Bookeo did not answer, and we could not find out'),
    ],
    [
      'lost its answer, and no lookup told more',
      'unknown',
      failed('outcome_unknown', lookedUp),
      unknown('Bookeo did not answer, and we could not find out'),
    ],
    [
      'was answered with a status that is neither yes nor no, such as pending_payment',
      'unknown',
      failed('outcome_unknown', sent(210, { code: 'unclear_answer' })),
      unknown('Bookeo answered, but its answer does not say if it booked'),
    ],
    [
      'was answered with an error after which it may be booked',
      'unknown',
      failed('outcome_unknown', sent(210, { code: 'http_500', http: 500 })),
      unknown('the last answer of Bookeo leaves it open, and we could not find out'),
    ],
    [
      'lost its worker',
      'unknown',
      failed('outcome_unknown', attempts({ after: 210 })),
      unknown('an attempt was cut off while it was under way, and we could not find out'),
    ],
    [
      'was canceled',
      'canceled',
      { status: 'CANCELED' },
      ['Your registration for Swimming was canceled.', NOT_CHARGED],
    ],
  ]
  const texts = [
    ...STATES.map(([, , given]) => messageFor(receiptOf(input(given)), NAMES).text),
    orderMessage(NAMES.service),
  ]

  it.each(STATES)('MESSAGE-1, MESSAGE-4: one that %s is told as %s', (_, name, given, expected) => {
    const message = messageFor(receiptOf(input(given)), NAMES)
    expect(message.name).toBe(name)
    expect(message.text.split('\n')).toEqual([...expected, REFERENCE])
  })

  it('MESSAGE-4: the answer to how the order is made has the wording of the seed', () => {
    expect(orderMessage('SignupAssist')).toBe(
      'We attempt queued registrations in the order they were scheduled with SignupAssist (first-come-first-served).\n' +
        'The provider ultimately decides who gets the seat, but we log everything in your audit trail.',
    )
  })

  it.each(texts)('MESSAGE-2: no seat and no charge is promised: %s', (text) => {
    expect(text).not.toMatch(/guarantee|promise|reserved for you|your seat|will get|certain/i)
    // All that is ever said of a charge: that there is none, or only if it succeeds.
    const charges = text.match(/[^.\n]*\bcharged?\b[^.\n]*/gi) ?? []
    for (const sentence of charges) {
      expect(sentence).toMatch(
        /not charged|won’t be charged|No charge now — .* only if registration succeeds/,
      )
    }
  })

  it('MESSAGE-2: of a booking nothing is said about the fee, taken or not', () => {
    for (const output of [BOOKED, unpaid]) {
      expect(messageFor(receiptOf(input({ output })), NAMES).text).not.toMatch(/charge|fee|paid/i)
    }
  })

  it('MESSAGE-2: where nobody knows if it booked, nobody says that it did not', () => {
    const told = texts.filter((text) => text.includes('Nobody knows'))
    expect(told.length).toBeGreaterThan(3)
    for (const text of told) expect(text).not.toMatch(/not charged|no seat/)
  })

  it('MESSAGE-3: times are the measured ones', () => {
    const after = (ms: number) => {
      const { text } = messageFor(receiptOf(input({ output: waitlisted, ...sent(ms) })), NAMES)
      return text
    }
    expect(after(0)).toContain('0 ms after it opened')
    expect(after(999)).toContain('999 ms after it opened')
    expect(after(1_999)).toContain('1.9 s after it opened')
    expect(after(125_000)).toContain('2 min 5 s after it opened')
  })

  it('MESSAGE-3: an attempt counts from its call, else from its ack, and one without a call does not', () => {
    const firstOf = (...leases: ReceiptInput['leases']) => receiptOf(input({ leases }))
    const told = { tStart: OPENS, isAcked: true, ackedAt: OPENS + 7, sentAt: OPENS + 321 }
    const lost = { tStart: OPENS, isAcked: true, ackedAt: OPENS + 400, sentAt: null }
    const unsentFirst = { tStart: OPENS, isAcked: true, ackedAt: OPENS + 1, isUnsent: true }
    expect(firstOf(unsentFirst, told, lost)).toMatchObject({
      ...{ firstAttemptAt: OPENS + 321, attempts: 2, unsent: 1 },
    })
    expect(firstOf(lost).firstAttemptAt).toBe(OPENS + 400)
    expect(firstOf(unsentFirst)).toMatchObject({ firstAttemptAt: null, attempts: 0 })
  })

  it('MESSAGE-3: one who joined an open session hears how long after that', () => {
    const registration = { ...input().registration, queuedAt: OPENS + 100 }
    const given = input({ output: waitlisted, registration, ...sent(200) })
    expect(messageFor(receiptOf(given), NAMES).text).toContain('100 ms after you scheduled')
  })

  it.each([
    ['UTC', Date.UTC(2027, 2, 1, 8), 'Monday, 1 March 2027, 08:00 UTC'],
    ['Mars/Olympus', Date.UTC(2027, 2, 1, 8), 'Monday, 1 March 2027, 08:00 UTC'],
    ['Europe/Berlin', Date.UTC(2027, 2, 1, 8), 'Monday, 1 March 2027, 09:00 (Europe/Berlin)'],
    ['Europe/Berlin', Date.UTC(2027, 6, 1, 22), 'Friday, 2 July 2027, 00:00 (Europe/Berlin)'],
    [
      'America/New_York',
      Date.UTC(2027, 0, 1, 2, 30, 5),
      'Thursday, 31 December 2026, 21:30:05 (America/New_York)',
    ],
  ])('MESSAGE-5: in %s a time is written for people', (timeZone, ms, expected) => {
    const registration = { ...input().registration, scheduledTime: ms }
    const receipt = receiptOf(input({ status: 'QUEUED', leases: [], timeline: [], registration }))
    expect(messageFor(receipt, { ...NAMES, timeZone }).text).toContain(`at ${expected}.`)
  })
})
