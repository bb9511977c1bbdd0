import {
  type JobRow,
  LEASE_STATUSES,
  type LeaseRow,
  type ProviderId,
  REFUSALS,
  type Refusal,
} from '@fairlead/core'
import type { ProviderCheck } from '@fairlead/core/internal'
import { describe, expect, it } from 'vitest'
import type { AssignedExplanation, RoundExplanation, WaitingExplanation } from './explain.ts'
import { explanationText } from './explanation-text.ts'

const AT = 1_760_000_000_000
const JOB = {
  id: '0x1',
  kind: 'ai',
  model: 'm',
  status: 'QUEUED',
  enqueueTs: AT - 350,
  retries: 0,
  options: null,
  proofAwaitedSince: null,
} as JobRow

function waiting(given: Partial<WaitingExplanation>): string[] {
  const explanation: WaitingExplanation = {
    job: JOB,
    at: AT,
    waitReason: 'ready',
    notBefore: null,
    dependencies: [],
    priority: 0,
    pause: null,
    place: 1,
    of: 1,
    fairness: 'score',
    score: 0.5,
    terms: { fee: 500_000, size: 1, tier: 0, ageSecs: 0 },
    providers: [],
    earliestAt: AT,
    session: null,
    attempts: [],
    attemptsBefore: 0,
    ...given,
  }
  return explanationText(explanation).split('\n')
}

function check(n: number, given: Partial<ProviderCheck> = {}): ProviderCheck {
  return { id: named(n), refusal: null, until: null, slots: 4, limit: null, advice: null, ...given }
}

function named(n: number): ProviderId {
  return `provider:${String(n).padStart(2, '0')}` as ProviderId
}

describe('a job that waits', () => {
  it('EXPLAIN-6: and could go now', () => {
    expect(waiting({ providers: [check(1)] })).toEqual([
      'Job 0x1 (ai "m"): waiting 350 ms (since 2025-10-09T08:53:19.650Z).',
      'Nothing holds it: the next round can give it to a provider.',
      '1st of 1 in the queue of kind ai.',
      'Its score is 0.5000: fee 500,000, size 1, tier 0 of 1,000,000 each, age 0 s.',
      'provider:01: would fit.',
      'The earliest time it can run: now.',
    ])
  })

  it('EXPLAIN-6: under fair shares it has a place in its requester’s queue, and no score is told', () => {
    const placeOf = (place: number) => waiting({ fairness: 'tenant', place, of: 1_200 })[2]
    expect([1, 2, 3, 4, 11, 12, 13, 21, 112, 1_101].map(placeOf)).toEqual(
      ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '112th', '1,101st'].map(
        (nth) => `${nth} of 1200 in its requester's queue of kind ai.`,
      ),
    )
    expect(waiting({ fairness: 'tenant' }).join()).not.toContain('score')
  })

  it('EXPLAIN-6: with many providers, those that fit come first and the rest is counted', () => {
    const cap = { refusal: 'lease_cap_reached' } as const
    const stale = { refusal: 'heartbeat_stale' } as const
    const refusing = Array.from({ length: 23 }, (_, n) => check(n, n % 2 === 0 ? cap : stale))
    const lines = waiting({ providers: [...refusing, check(99)] }).slice(4, -1)
    expect(lines).toHaveLength(21)
    expect(lines.slice(0, 2)).toEqual([
      'provider:99: would fit.',
      'provider:00: lease_cap_reached – all its 4 slots are taken.',
    ])
    expect(lines.at(-1)).toBe('And 4 more: 2 heartbeat_stale, 2 lease_cap_reached.')
    expect(waiting({ providers: Array.from({ length: 20 }, (_, n) => check(n)) })).toHaveLength(25)
  })

  it('EXPLAIN-6: nobody offers it: that comes first, and few providers are listed', () => {
    const unfit = { refusal: 'model_unsupported' } as const
    const providers = Array.from({ length: 5 }, (_, n) => check(n, unfit))
    const job = { ...JOB, kind: 'task', model: 'nobody' } as JobRow
    const told = (given: Partial<WaitingExplanation>) =>
      waiting({ job, waitReason: 'no_provider', fairness: 'tenant', ...given }).slice(1, -1)
    const [first, , ...listed] = told({ providers })
    expect(first).toBe('No provider offers "nobody"; connect a worker that does.')
    expect(listed).toHaveLength(4)
    expect(listed.at(-1)).toBe('And 2 more: 2 model_unsupported.')
    const other = check(5, { refusal: 'capability_missing' })
    expect(told({ providers: [other, ...providers] })[0]).toBe(first)
    expect(told({ providers: [other] })[0]).toBe(
      'No provider takes jobs of kind task; connect a worker that does.',
    )
    expect(told({ job: JOB, providers })[0]).toContain('"m", or none in a precision')
    // One that fails an earlier check may offer it.
    const paused = check(6, { refusal: 'provider_not_active' })
    expect(told({ providers: [paused, ...providers] })).toHaveLength(8)
    expect(told({ providers: [paused] })[0]).toBe('No provider fits it now.')
  })

  it.each([
    [0, 'it has no slots, because no worker of it is connected or it takes none'],
    [1, 'its only slot is taken'],
    [2, 'all its 2 slots are taken'],
  ])('EXPLAIN-6: for a provider with %i slots', (slots, means) => {
    const providers = [check(1, { refusal: 'lease_cap_reached', slots })]
    expect(waiting({ providers })).toContain(`provider:01: lease_cap_reached – ${means}.`)
  })

  it('EXPLAIN-6: under a name that its requester chose, which cannot pass for a line of ours', () => {
    const model = 'm"\n\u2028\u001b[2J\u009b\u202e\\é😀'
    const [line] = waiting({ job: { ...JOB, model } })
    expect(line).toContain('(ai "m\\u{22}\\u{a}\\u{2028}\\u{1b}[2J\\u{9b}\\u{202e}\\u{5c}é😀")')
    expect(waiting({ job: { ...JOB, kind: 'quantum', model: null } })[0]).toContain('(quantum)')
  })
})

it.each(REFUSALS)('EXPLAIN-6: %s has a sentence of its own', (refusal) => {
  const textOf = (one: Refusal) => waiting({ providers: [check(1, { refusal: one })] })[4]
  expect(textOf(refusal)).toMatch(new RegExp(`^provider:01: ${refusal} – \\w.{10,}\\w\\.$`))
  const meanings = REFUSALS.map((one) => textOf(one)?.split(' – ')[1])
  expect(new Set(meanings).size).toBe(REFUSALS.length)
})

describe('an assigned job', () => {
  const lease = {
    attempt: 3,
    providerId: named(1),
    status: 'ACTIVE',
    isAcked: false,
    tStart: AT,
    tDeadline: AT + 60_000,
    ackTimeoutMs: 5_000,
    renewals: 2,
  } as LeaseRow
  const round: RoundExplanation = {
    height: 7,
    at: AT,
    seed: '0x5',
    batchDigest: '0xb',
    batchSize: 2,
    order: 'rotate',
    providers: Array.from({ length: 20 }, (_, n) => named(n)),
    place: null,
    passedOver: [{ providerId: named(5), refusal: null }],
  }
  const assigned = (given: Partial<AssignedExplanation> = {}): string[] => {
    const job: JobRow = { ...JOB, status: 'ASSIGNED' }
    const attempts = [{ lease, round, ended: null }]
    const rest = { at: AT, waitReason: null, attemptsBefore: 0, end: null }
    return explanationText({ job, attempts, ...rest, ...given }).split('\n')
  }

  it('EXPLAIN-6: of which not everything is kept', () => {
    const order =
      'shuffled by the seed, and each search goes on behind the provider that was assigned last'
    expect(assigned({ attemptsBefore: 3 })).toEqual([
      'Job 0x1 (ai "m") is ASSIGNED; it was enqueued at 2025-10-09T08:53:19.650Z.',
      'Earlier attempts, left out here: 3.',
      'Attempt 3: given to provider:01 at 2025-10-09T08:53:20.000Z, to be acknowledged by 2025-10-09T08:53:25.000Z (ACTIVE).',
      'Attempt 3: round 7 with 2 jobs in its batch, seed 0x5.',
      `Attempt 3: order of the providers (${order}), the first 20: ${round.providers.join(', ')}.`,
      'Attempt 3: provider:05 was passed over: the reason is not kept.',
    ])
  })

  it('EXPLAIN-6: by score', () => {
    const attempts = [
      { lease, round: { ...round, order: 'score', providers: [named(1)] } as const, ended: null },
    ]
    expect(assigned({ attempts })).toContain(
      'Attempt 3: order of the providers (by stake times health, equal ones for each job as the seed has it): provider:01.',
    )
  })

  it('EXPLAIN-6: each status of a lease has its words', () => {
    const words = LEASE_STATUSES.map((status) => {
      const attempts = [{ lease: { ...lease, status, isAcked: true }, round: null, ended: null }]
      return assigned({ attempts })[1]?.split('Z, ')[1]
    })
    expect(words).toEqual([
      'runs until 2025-10-09T08:54:20.000Z at most (ACTIVE).',
      'renewed 2 times, runs until 2025-10-09T08:54:20.000Z at most (RENEWED).',
      'completed (COMPLETED).',
      'ended early.',
      'ran out at 2025-10-09T08:54:20.000Z (EXPIRED).',
    ])
  })
})
