import { ROUNDS_KEPT, type RoundRow } from '@fairlead/core'
import { expect, it } from 'vitest'
import {
  batchOf,
  jobIdOf,
  newJob,
  START,
  sampleEntry,
  sampleJob,
  sampleLease,
  sampleResult,
  sampleRound,
} from './sample-rows.ts'
import type { Subject } from './store-conformance.ts'

export function pruneRules({ store, reopen }: Subject): void {
  const ended = (n: number, endedAt: number) => sampleJob(n, { status: 'COMPLETED', endedAt })

  it('STORE-10: a job that ended before the time goes with payload and leases, the rest stays', async () => {
    const jobs = [ended(1, START - 1), ended(2, START), sampleJob(3)]
    const leases = [1, 2, 3].map((n) => sampleLease(n, { status: 'COMPLETED' }))
    const results = [1, 2].map((n) => sampleResult(n))
    const journal = [1, 2, 3].map((n) => sampleEntry(n, { jobId: jobIdOf(n) }))
    const newJobs = jobs.map((row) => newJob(row))
    await store().commit(batchOf({ newJobs, leases, results, journal }))
    await store().commit(batchOf({ pruneEndedBefore: START }))
    await reopen()
    const { read } = store()
    expect(read.jobs({ afterSeq: 0, limit: 10 })).toEqual(jobs.slice(1))
    expect(read.job(jobIdOf(1))).toBeNull()
    expect(read.payload(jobIdOf(1))).toBeNull()
    expect(read.leases(jobIdOf(1))).toEqual([])
    expect(read.lease(sampleLease(1).id)).toBeNull()
    expect(read.payload(jobIdOf(2))).not.toBeNull()
    expect(read.leases(jobIdOf(2))).toEqual([leases[1]])
    expect(read.result(jobIdOf(1))).toEqual(results[0])
    expect(read.timeline(jobIdOf(1))).toEqual([journal[0]])
    expect(read.journal(0, 10)).toEqual(journal)
  })

  it('STORE-10: the names of a deleted job are free again, even in the same batch', async () => {
    const first = ended(1, START)
    await store().commit(
      batchOf({
        newJobs: [newJob(first)],
        leases: [sampleLease(1, { status: 'COMPLETED' })],
        results: [sampleResult(1)],
        journal: [sampleEntry(1)],
      }),
    )
    const again = sampleJob(1, { seq: 2 })
    const leases = [sampleLease(1)]
    const journal = [sampleEntry(2)]
    await store().commit(
      batchOf({ newJobs: [newJob(again)], leases, journal, pruneEndedBefore: START + 1 }),
    )
    expect(store().read.job(first.id)).toEqual(again)
    expect(store().read.jobByTx(first.caller, first.txHash)).toEqual(again)
    expect(store().read.leases(first.id)).toEqual(leases)
    expect(store().read.result(first.id)).toEqual(sampleResult(1))
    expect(store().read.timeline(first.id)).toHaveLength(2)
  })

  it('STORE-10: a job whose end in this very batch is long ago goes at once', async () => {
    await store().commit(batchOf({ newJobs: [newJob(sampleJob(1))] }))
    await store().commit(batchOf({ jobs: [ended(1, START)], pruneEndedBefore: START + 1 }))
    expect([...store().read.everything()]).toEqual([])
  })

  it('STORE-10: the newest rounds are kept, each with all of its kinds', async () => {
    const kinds = ['ai', 'quantum'] as const
    const of = (from: number, to: number): RoundRow[] =>
      Array.from({ length: to - from + 1 }, (_, i) => from + i).flatMap((height) =>
        kinds.map((kind) => sampleRound(height, { kind, assignments: [] })),
      )
    await store().commit(batchOf({ rounds: of(1, ROUNDS_KEPT) }))
    expect(store().read.round(1, 'ai')).not.toBeNull()
    await store().commit(batchOf({ rounds: of(ROUNDS_KEPT + 1, ROUNDS_KEPT + 2) }))
    for (const kind of kinds) {
      expect(store().read.round(2, kind)).toBeNull()
      expect(store().read.round(3, kind)).not.toBeNull()
      expect(store().read.round(ROUNDS_KEPT + 2, kind)).not.toBeNull()
    }
  })
}
