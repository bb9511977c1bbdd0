import { brokenSeq, FairleadError, type JobRow, type LeaseRow } from '@fairlead/core'
import type { ProviderRow, WriteBatch } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import {
  batchOf,
  callerOf,
  chained,
  jobIdOf,
  leaseIdOf,
  newJob,
  providerOf,
  START,
  sampleEntry,
  sampleFailure,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
  sampleRound,
} from './sample-rows.ts'
import type { Subject } from './tables-conformance.ts'

const JOB = sampleJob(1, { status: 'ASSIGNED' })
const LEASE = sampleLease(1)
const ENDED = sampleJob(2, { status: 'COMPLETED', endedAt: START })
const ENDED_LEASE = sampleLease(2, { status: 'COMPLETED' })

/** What every test of a refusal begins with. */
const BEFORE = batchOf({
  newJobs: [newJob(JOB), newJob(ENDED)],
  newLeases: [LEASE, ENDED_LEASE],
  rounds: [sampleRound(1)],
  journal: [sampleEntry(1)],
})

const NEW = sampleJob(3)

/** Batches that break one rule each. */
const REFUSED: readonly (readonly [rule: string, what: string, given: Partial<WriteBatch>])[] = [
  ['STORE-5', 'a job with the id of another', { newJobs: [newJob({ ...NEW, id: JOB.id })] }],
  ['STORE-5', 'a job with the id of an ended one', { newJobs: [newJob({ ...NEW, id: ENDED.id })] }],
  ['STORE-5', 'a job with the number of another', { newJobs: [newJob({ ...NEW, seq: JOB.seq })] }],
  [
    'STORE-5',
    'a job with the caller and tx_hash of another',
    { newJobs: [newJob({ ...NEW, txHash: JOB.txHash })] },
  ],
  [
    'STORE-5',
    'two new jobs with one tx_hash',
    { newJobs: [newJob(NEW), newJob(sampleJob(4, { txHash: NEW.txHash }))] },
  ],
  ['STORE-5', 'two new jobs with one id', twoNew({ id: NEW.id })],
  ['STORE-5', 'two new jobs with one number', twoNew({ seq: NEW.seq })],
  [
    'STORE-5',
    'a second live lease of a job',
    { newLeases: [sampleLease(1, { attempt: 1, status: 'RENEWED' })] },
  ],
  [
    'STORE-5',
    'a second live lease of a job whose first goes on',
    { newLeases: [sampleLease(1, { attempt: 1 })], leases: [{ ...LEASE, status: 'RENEWED' }] },
  ],
  [
    'STORE-5',
    'two live leases of a new job',
    { newJobs: [newJob(NEW)], newLeases: [sampleLease(3), sampleLease(3, { attempt: 1 })] },
  ],
  [
    'STORE-5',
    'a lease with the id of another',
    { newJobs: [newJob(NEW)], newLeases: [sampleLease(3, { id: LEASE.id })] },
  ],
  [
    'STORE-5',
    'another lease for the same attempt',
    { newLeases: [sampleLease(2, { id: leaseIdOf(77), status: 'EXPIRED' })] },
  ],
  ['STORE-5', 'a new lease that is there already', { newLeases: [ENDED_LEASE] }],
  ['STORE-5', 'an entry whose number is taken', { journal: [sampleEntry(1)] }],
  ['STORE-5', 'an entry after a gap', { journal: [sampleEntry(3)] }],
  ['STORE-5', 'a gap between entries', { journal: [sampleEntry(2), sampleEntry(4)] }],
  ['STORE-5', 'two entries with one number', { journal: [sampleEntry(2), sampleEntry(2)] }],
  ['STORE-5', 'entries that go back', { journal: [sampleEntry(3), sampleEntry(2)] }],
  ['STORE-5', 'a round that is there already', { rounds: [sampleRound(1)] }],
  [
    'STORE-6',
    'a round of an unknown order',
    { rounds: [sampleRound(2, { order: 'dice' as never })] },
  ],
  ['STORE-5', 'a round twice', { rounds: [sampleRound(2), sampleRound(2)] }],
  ['STORE-6', 'a change of a job that is not there', { jobs: [{ ...NEW, id: jobIdOf(9) }] }],
  ['STORE-6', 'a change of a job under another id', { jobs: [{ ...JOB, id: ENDED.id }] }],
  ['STORE-6', 'a change of status of an ended job', { jobs: [{ ...ENDED, status: 'FAILED' }] }],
  [
    'STORE-6',
    'an ended job that is alive again',
    { jobs: [{ ...ENDED, status: 'QUEUED', endedAt: null }] },
  ],
  ['STORE-6', 'a live job with an end', { jobs: [{ ...JOB, endedAt: START }] }],
  ['STORE-6', 'an ended job without one', { jobs: [{ ...JOB, status: 'EXPIRED' }] }],
  ['STORE-6', 'a new job that is alive and has an end', twoNew({ endedAt: START })],
  [
    'STORE-6',
    'a change of a lease that is not there',
    { leases: [sampleLease(1, { attempt: 1, status: 'EXPIRED' })] },
  ],
  [
    'STORE-6',
    'a change of a lease of a job that is not there',
    { leases: [sampleLease(9, { status: 'EXPIRED' })] },
  ],
  [
    'STORE-6',
    'a change of a lease under another id',
    { leases: [{ ...LEASE, id: ENDED_LEASE.id, status: 'EXPIRED' }] },
  ],
  [
    'STORE-6',
    'an ended lease that is live again',
    { leases: [{ ...ENDED_LEASE, status: 'ACTIVE' }] },
  ],
  [
    'STORE-6',
    'a change of status of an ended lease',
    { leases: [{ ...ENDED_LEASE, status: 'EXPIRED' }] },
  ],
  [
    'STORE-6',
    'a job with a status of its own',
    { jobs: [{ ...JOB, status: 'LOST' as JobRow['status'] }] },
  ],
  [
    'STORE-6',
    'a lease with a status of its own',
    { leases: [{ ...LEASE, status: 'LOST' as LeaseRow['status'] }] },
  ],
  [
    'STORE-6',
    'a new lease with a status of its own',
    { newLeases: [sampleLease(2, { attempt: 1, status: 'LOST' as LeaseRow['status'] })] },
  ],
  [
    'STORE-6',
    'a provider with a status of its own',
    { providers: [sampleProvider(6, { status: 'LOST' as ProviderRow['status'] })] },
  ],
  ['STORE-6', 'a failure of a job that is not there', { failures: [sampleFailure(9)] }],
  [
    'STORE-6',
    'a failure of a job under another id',
    { failures: [sampleFailure(1, { jobId: ENDED.id })] },
  ],
  [
    'STORE-6',
    'an entry that cannot be in the log (AUDIT-5)',
    { journal: [sampleEntry(2), sampleEntry(3, { details: { share: 0.5 } })] },
  ],
]

function twoNew(given: Partial<JobRow>): Partial<WriteBatch> {
  return { newJobs: [newJob(NEW), newJob(sampleJob(4, given))] }
}

export function batchRules({ tables, apply, reopen }: Subject): void {
  const everything = () => tables().read.everything()

  it.each(REFUSED)('%s: refuses %s, and all that came with it', async (_rule, _what, given) => {
    await apply(BEFORE)
    const before = await everything()
    const rest = {
      newJobs: [newJob(sampleJob(20))],
      jobs: [{ ...JOB, status: 'RUNNING' as const }],
      providers: [sampleProvider(5)],
      results: [sampleResult(1)],
      shares: [{ kind: 'ai' as const, caller: callerOf(9), finish: 1n }],
      journal: [sampleEntry(2)],
      meta: { beat: '1' },
    }
    const batch = batchOf({
      ...rest,
      ...given,
      newJobs: [...rest.newJobs, ...(given.newJobs ?? [])],
    })
    const error = await apply(batch).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(FairleadError)
    expect(error).toMatchObject({ code: 'StoreUnavailable', cause: expect.any(Error) })
    expect(await everything()).toEqual(before)
    const chain = chained([sampleEntry(1), sampleEntry(2)])
    expect(await tables().read.timeline(JOB.id)).toEqual(chain.slice(0, 1))
    // And it goes on, with numbers that the refused batch had taken.
    await apply(batchOf(rest))
    expect(await tables().read.job(jobIdOf(20))).toEqual(sampleJob(20))
    await reopen()
    expect(await everything()).toHaveLength(before.length + 7)
    expect(await tables().read.timeline(JOB.id)).toEqual(chain)
  })

  it('STORE-2: a bad value in the last row of a large batch leaves nothing behind', async () => {
    const newJobs = Array.from({ length: 500 }, (_, i) => newJob(sampleJob(i + 1)))
    const broken = { ...sampleJob(501), status: 'LOST' } as unknown as JobRow
    const batch = batchOf({ newJobs: [...newJobs, newJob(broken)], meta: { beat: '1' } })
    await expect(apply(batch)).rejects.toMatchObject({ code: 'StoreUnavailable' })
    expect(await everything()).toEqual([])
    await apply(batchOf({ newJobs, meta: { beat: '1' } }))
    expect(await everything()).toHaveLength(1_001)
  })

  it('STORE-2: an empty batch changes nothing', async () => {
    await apply(BEFORE)
    const before = await everything()
    await apply(batchOf({}))
    expect(await everything()).toEqual(before)
  })

  it('STORE-2: batches are applied in the order of the calls, awaited or not', async () => {
    const numbers = Array.from({ length: 30 }, (_, i) => i + 1)
    const applied = numbers.map((n) => {
      const jobs = n === 1 ? [] : [sampleJob(n - 1, { status: 'RUNNING' })]
      const journal = [sampleEntry(n, { jobSeq: n })]
      return apply(
        batchOf({ newJobs: [newJob(sampleJob(n))], jobs, journal, meta: { last: String(n) } }),
      )
    })
    await Promise.all(applied)
    await reopen()
    const { jobs, meta } = await tables().load()
    expect(jobs.map(({ status }) => status)).toEqual(
      numbers.map((n) => (n === 30 ? 'QUEUED' : 'RUNNING')),
    )
    expect(meta).toEqual({ last: '30' })
    const entries = await tables().read.journal(0, 100)
    expect(entries.map(({ seq }) => seq)).toEqual(numbers)
    expect(brokenSeq(entries)).toBeNull()
  })

  it('STORE-2: batches of any size, awaited or not, are what they were when they were given', async () => {
    const sizes = [10, 300_000, 20, 200_000, 262_144, 30, 700_000, 40, 261_000, 50]
    const payloads = sizes.map((size, n) => new Uint8Array(size).fill(n + 1))
    const applied = payloads.map((payload, n) =>
      apply(batchOf({ newJobs: [newJob(sampleJob(n + 1), payload)] })),
    )
    await Promise.all(applied)
    await reopen()
    const read = await tables().read.payloads(sizes.map((_, n) => n + 1))
    expect(read.map((payload) => payload?.length)).toEqual(sizes)
    for (const [n, payload] of read.entries()) {
      expect(Buffer.compare(payload as Uint8Array, payloads[n] as Uint8Array)).toBe(0)
    }
  })

  it('STORE-5: in one batch the old lease of a job ends and the next begins, in any order', async () => {
    await apply(BEFORE)
    const next = sampleLease(1, { attempt: 1 })
    const ended = { ...LEASE, status: 'EXPIRED' } as const
    await apply(batchOf({ newLeases: [next], leases: [ended] }))
    expect(await tables().read.leases(JOB.id)).toEqual([ended, next])
  })

  it('STORE-5: in one batch an attempt that is over and the next one can both be new', async () => {
    const over = sampleLease(1, { status: 'CANCELLED' })
    const next = sampleLease(1, { attempt: 1 })
    await apply(batchOf({ newJobs: [newJob(JOB)], newLeases: [next, over] }))
    expect(await tables().read.leases(JOB.id)).toEqual([over, next])
  })

  it('STORE-5: one tx_hash of two callers is two jobs', async () => {
    const other = { ...NEW, caller: callerOf(2), txHash: JOB.txHash }
    await apply(batchOf({ newJobs: [newJob(JOB), newJob(other)] }))
    const keys = [2, 1].map((n) => ({ caller: callerOf(n), txHash: JOB.txHash }))
    const found = await tables().read.jobsByTx(keys)
    expect(found.map((job) => job?.id)).toEqual([other.id, JOB.id])
  })

  it('STORE-6: an ended job or lease may be written again with the status that it has', async () => {
    await apply(BEFORE)
    await apply(batchOf({ jobs: [ENDED], leases: [ENDED_LEASE] }))
    expect(await tables().read.job(ENDED.id)).toEqual(ENDED)
    expect(await tables().read.lease(ENDED_LEASE.id)).toEqual(ENDED_LEASE)
  })

  it('STORE-7: a change says what became of a job or lease, never what it is', async () => {
    await apply(BEFORE)
    const job = { ...JOB, status: 'RUNNING' } as const
    const lease = { ...LEASE, status: 'RENEWED' } as const
    const otherJob = { ...job, kind: 'task', tier: 'X', txHash: NEW.txHash, fee: 9n } as const
    const otherLease = { ...lease, tStart: 1, epoch: 2, round: 3, providerId: providerOf(9) }
    await apply(batchOf({ jobs: [otherJob], leases: [otherLease] }))
    expect(await tables().read.job(JOB.id)).toEqual(job)
    expect(await tables().read.lease(LEASE.id)).toEqual(lease)
  })

  it('STORE-7: a later row takes the place of the first', async () => {
    const provider = sampleProvider(1, { health: 5, region: 'eu' })
    const result = sampleResult(1, { units: 9 })
    const lease = { ...LEASE, status: 'RENEWED', renewals: 1, tDeadline: START + 9 } as const
    const share = { kind: 'ai', caller: callerOf(1), finish: 7n } as const
    const before = {
      providers: [sampleProvider(1)],
      results: [sampleResult(1)],
      meta: { a: '1', b: '1' },
      lanes: ['a', 'b'].map((key) => ({ lane: 'x', key, value: Uint8Array.of(1) })),
    }
    await apply({ ...BEFORE, ...before, shares: [{ ...share, finish: 6n }] })
    const lanes = ['b', 'c'].map((key) => ({ lane: 'x', key, value: Uint8Array.of(2) }))
    const later = { providers: [provider], results: [result], meta: { b: '2', c: '3' }, lanes }
    await apply(batchOf({ ...later, leases: [lease], shares: [share] }))
    await reopen()
    const snapshot = await tables().load()
    expect(snapshot.providers).toEqual([provider])
    expect(snapshot.shares).toEqual([share])
    expect(snapshot.meta).toEqual({ a: '1', b: '2', c: '3' })
    expect(snapshot.lanes.map(({ key, value }) => [key, ...value])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 2],
    ])
    expect(await tables().read.result(JOB.id)).toEqual(result)
    expect(await tables().read.lease(LEASE.id)).toEqual(lease)
  })

  it('STORE-7: a later failure of the same attempt takes the place of the first', async () => {
    const first = [0, 1].map((attempt) => sampleFailure(1, { attempt, message: 'first' }))
    const second = sampleFailure(1, { attempt: 1, message: 'second' })
    await apply({ ...BEFORE, failures: first })
    await apply(batchOf({ failures: [second] }))
    await reopen()
    expect(await tables().read.failures(JOB.id)).toEqual([first[0], second])
    const third = { ...second, message: 'third' }
    await apply(batchOf({ failures: [third] }))
    expect(await tables().read.failures(JOB.id)).toEqual([first[0], third])
  })

  it('STORE-7: a share without a finish time is forgotten, a known one or not', async () => {
    const share = { kind: 'ai', caller: callerOf(1) } as const
    await apply(batchOf({ shares: [{ ...share, finish: 6n }] }))
    const strange = { ...share, caller: callerOf(2), finish: null }
    await apply(batchOf({ shares: [{ ...share, finish: null }, strange] }))
    expect((await tables().load()).shares).toEqual([])
  })

  it('STORE-7: a piece of a lane without a value is forgotten, a known one or not', async () => {
    const lane = { lane: 'limit', key: 'k', value: Uint8Array.of(1) }
    await apply(batchOf({ lanes: [lane] }))
    const strange = { ...lane, key: 'other', value: null }
    await apply(batchOf({ lanes: [{ ...lane, value: null }, strange] }))
    expect((await tables().load()).lanes).toEqual([])
  })
}
