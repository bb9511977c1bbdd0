import { FairleadError, type JobRow, type WriteBatch } from '@fairlead/core'
import { expect, it } from 'vitest'
import {
  batchOf,
  callerOf,
  jobIdOf,
  leaseIdOf,
  newJob,
  START,
  sampleEntry,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
  sampleRound,
} from './sample-rows.ts'
import type { Subject } from './store-conformance.ts'

const JOB = sampleJob(1, { status: 'ASSIGNED' })
const LEASE = sampleLease(1)
const ENDED = sampleJob(2, { status: 'COMPLETED', endedAt: START })
const ENDED_LEASE = sampleLease(2, { status: 'COMPLETED' })

/** What every test of a refusal begins with. */
const BEFORE = batchOf({
  newJobs: [newJob(JOB), newJob(ENDED)],
  leases: [LEASE, ENDED_LEASE],
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
  [
    'STORE-5',
    'a second live lease of a job',
    { leases: [sampleLease(1, { attempt: 1, status: 'RENEWED' })] },
  ],
  [
    'STORE-5',
    'a lease with the id of another',
    { newJobs: [newJob(NEW)], leases: [sampleLease(3, { id: LEASE.id })] },
  ],
  [
    'STORE-5',
    'another lease for the same attempt',
    { leases: [sampleLease(2, { id: leaseIdOf(77), status: 'EXPIRED' })] },
  ],
  ['STORE-5', 'an entry whose number is taken', { journal: [sampleEntry(1)] }],
  ['STORE-5', 'a round that is there already', { rounds: [sampleRound(1)] }],
  ['STORE-6', 'a change of a job that is not there', { jobs: [{ ...NEW, id: jobIdOf(9) }] }],
  ['STORE-6', 'a change of status of an ended job', { jobs: [{ ...ENDED, status: 'FAILED' }] }],
  [
    'STORE-6',
    'an ended job that is alive again',
    { jobs: [{ ...ENDED, status: 'QUEUED', endedAt: null }] },
  ],
  ['STORE-6', 'a live job with an end', { jobs: [{ ...JOB, endedAt: START }] }],
  ['STORE-6', 'an ended job without one', { jobs: [{ ...JOB, status: 'EXPIRED' }] }],
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
]

export function batchRules({ store, reopen }: Subject): void {
  const everything = () => [...store().read.everything()]

  it.each(REFUSED)('%s: refuses %s, and all that came with it', async (_rule, _what, given) => {
    await store().commit(BEFORE)
    const before = everything()
    const rest = {
      newJobs: [newJob(sampleJob(20))],
      jobs: [{ ...JOB, status: 'RUNNING' as const }],
      providers: [sampleProvider(5)],
      results: [sampleResult(5)],
      shares: [{ kind: 'ai' as const, caller: callerOf(9), finish: 1n }],
      journal: [sampleEntry(2)],
      meta: { beat: '1' },
    }
    const batch = batchOf({
      ...rest,
      ...given,
      newJobs: [...rest.newJobs, ...(given.newJobs ?? [])],
    })
    const error = await store()
      .commit(batch)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(FairleadError)
    expect(error).toMatchObject({ code: 'StoreUnavailable', cause: expect.any(Error) })
    expect(everything()).toEqual(before)
    // And it goes on, with numbers that the refused batch had taken.
    await store().commit(batchOf(rest))
    expect(store().read.job(jobIdOf(20))).toEqual(sampleJob(20))
    await reopen()
    expect(everything()).toHaveLength(before.length + 7)
  })

  it('STORE-2: a bad value in the last row of a large batch leaves nothing behind', async () => {
    const newJobs = Array.from({ length: 500 }, (_, i) => newJob(sampleJob(i + 1)))
    const broken = { ...sampleJob(501), status: 'LOST' } as unknown as JobRow
    const batch = batchOf({ newJobs: [...newJobs, newJob(broken)], meta: { beat: '1' } })
    await expect(store().commit(batch)).rejects.toMatchObject({ code: 'StoreUnavailable' })
    expect(everything()).toEqual([])
    await store().commit(batchOf({ newJobs, meta: { beat: '1' } }))
    expect(everything()).toHaveLength(1_001)
  })

  it('STORE-2: an empty batch changes nothing', async () => {
    await store().commit(BEFORE)
    const before = everything()
    await store().commit(batchOf({}))
    expect(everything()).toEqual(before)
  })

  it('STORE-5: in one batch the old lease of a job ends and the next begins, in any order', async () => {
    await store().commit(BEFORE)
    const next = sampleLease(1, { attempt: 1 })
    const ended = { ...LEASE, status: 'EXPIRED' } as const
    await store().commit(batchOf({ leases: [next, ended] }))
    expect(store().read.leases(JOB.id)).toEqual([ended, next])
  })

  it('STORE-5: one tx_hash of two callers is two jobs', async () => {
    const other = { ...NEW, caller: callerOf(2), txHash: JOB.txHash }
    await store().commit(batchOf({ newJobs: [newJob(JOB), newJob(other)] }))
    expect(store().read.jobByTx(callerOf(2), JOB.txHash)).toEqual(other)
    expect(store().read.jobByTx(callerOf(1), JOB.txHash)).toEqual(JOB)
  })

  it('STORE-6: an ended job or lease may be written again with the status that it has', async () => {
    await store().commit(BEFORE)
    await store().commit(batchOf({ jobs: [ENDED], leases: [ENDED_LEASE] }))
    expect(store().read.job(ENDED.id)).toEqual(ENDED)
    expect(store().read.lease(ENDED_LEASE.id)).toEqual(ENDED_LEASE)
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
    }
    await store().commit({ ...BEFORE, ...before, shares: [{ ...share, finish: 6n }] })
    const later = { providers: [provider], results: [result], meta: { b: '2', c: '3' } }
    await store().commit(batchOf({ ...later, leases: [lease], shares: [share] }))
    await reopen()
    const snapshot = await store().load()
    expect(snapshot.providers).toEqual([provider])
    expect(snapshot.shares).toEqual([share])
    expect(snapshot.meta).toEqual({ a: '1', b: '2', c: '3' })
    expect(store().read.result(JOB.id)).toEqual(result)
    expect(store().read.lease(LEASE.id)).toEqual(lease)
  })

  it('STORE-7: a share without a finish time is forgotten, a known one or not', async () => {
    const share = { kind: 'ai', caller: callerOf(1) } as const
    await store().commit(batchOf({ shares: [{ ...share, finish: 6n }] }))
    const strange = { ...share, caller: callerOf(2), finish: null }
    await store().commit(batchOf({ shares: [{ ...share, finish: null }, strange] }))
    expect((await store().load()).shares).toEqual([])
  })
}
