import { describe, expect, it, test } from 'vitest'
import { World } from '../../test/world.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import {
  hasEnded,
  JOB_EVENTS,
  JOB_STATUSES,
  JOB_TABLE,
  type JobEvent,
  type JobStatus,
  nextJobStatus,
} from './job-table.ts'
import { moveJob } from './move-job.ts'

type Row = Readonly<Record<JobEvent, JobStatus | '–' | `${JobStatus}, last ${JobStatus}`>>

/** §4 written out: each state and each event, `–` where the rules have no such move. */
// biome-ignore format: a table
const MOVES: Readonly<Record<JobStatus, Row>> = {
  QUEUED: {
    match: 'ASSIGNED', ack: '–', ackTimeout: '–', leaseDeadline: '–', decline: '–', giveBack: '–', providerFail: '–',
    complete: '–', awaitProof: '–', proofValid: '–', proofInvalid: '–', ttl: 'EXPIRED', cancel: 'CANCELED', attemptsOver: 'FAILED',
  },
  ASSIGNED: {
    match: '–', ack: 'RUNNING', ackTimeout: 'QUEUED, last EXPIRED', leaseDeadline: 'QUEUED, last EXPIRED',
    decline: 'QUEUED, last FAILED', giveBack: 'QUEUED, last FAILED', providerFail: 'QUEUED, last FAILED',
    complete: 'COMPLETED', awaitProof: 'RUNNING', proofValid: '–', proofInvalid: '–', ttl: 'EXPIRED', cancel: 'CANCELED', attemptsOver: 'FAILED',
  },
  RUNNING: {
    match: '–', ack: '–', ackTimeout: '–', leaseDeadline: 'QUEUED, last EXPIRED',
    decline: 'QUEUED, last FAILED', giveBack: 'QUEUED, last FAILED', providerFail: 'QUEUED, last FAILED',
    complete: 'COMPLETED', awaitProof: 'RUNNING', proofValid: 'COMPLETED', proofInvalid: 'QUEUED, last FAILED', ttl: 'EXPIRED', cancel: 'CANCELED', attemptsOver: 'FAILED',
  },
  COMPLETED: nothing(),
  FAILED: nothing(),
  EXPIRED: nothing(),
  CANCELED: nothing(),
}

const PAIRS = JOB_STATUSES.flatMap((from) => JOB_EVENTS.map((on) => [from, on] as const))

describe('every pair of status and event', () => {
  test.each(PAIRS)('STATE-1: a job that is %s, on %s', (from, on) => {
    const { to, last } = expected(from, on)
    expect(nextJobStatus(from, on)).toBe(to)
    expect(nextJobStatus(from, on, true)).toBe(last)

    const { market, job } = jobIn(from)
    const before = viewOf(market, job)
    if (to === null) {
      expect(() => moveJob(market, job, on)).toThrow(
        expect.objectContaining({ code: 'InvalidState', retryable: false }),
      )
      expect(viewOf(market, job)).toEqual(before)
    } else {
      expect(moveJob(market, job, on)).toBe(to)
      const waiting = to === 'QUEUED' ? [[job.caller, 1]] : []
      expect(viewOf(market, job)).toEqual({ ...before, status: to, waiting })
    }
  })

  it('STATE-1: the table has no row and no event beyond these', () => {
    expect(Object.keys(JOB_TABLE)).toEqual(Object.keys(MOVES))
    for (const row of Object.values(JOB_TABLE))
      expect(Object.keys(MOVES.QUEUED)).toEqual(expect.arrayContaining(Object.keys(row)))
  })
})

it('STATE-2: COMPLETED, FAILED, EXPIRED and CANCELED have ended, the others have not', () => {
  const ended = JOB_STATUSES.filter(hasEnded)
  expect(ended).toEqual(['COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED'])
})

function expected(from: JobStatus, on: JobEvent): { to: string | null; last: string | null } {
  const cell = MOVES[from][on]
  if (cell === '–') return { to: null, last: null }
  const [to = cell, last = null] = cell.split(', last ')
  return { to, last }
}

function jobIn(status: JobStatus): { market: Market; job: Job } {
  const { market, enqueue } = new World()
  const job = enqueue()
  job.status = status
  if (status !== 'QUEUED') market.waitingOf.clear()
  return { market, job }
}

function viewOf(market: Market, job: Job): object {
  const { status, attempt, retries, declines, notBefore, firstAssignedAt, endedAt, reason } = job
  const course = { attempt, retries, declines, notBefore, firstAssignedAt, endedAt, reason }
  return { status, ...course, waiting: [...market.waitingOf] }
}

function nothing(): Row {
  return Object.fromEntries(JOB_EVENTS.map((on) => [on, '–'])) as Row
}
