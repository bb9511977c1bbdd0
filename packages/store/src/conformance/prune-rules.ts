import { encodeCbor } from '@fairlead/core'
import { FAILURES_KEPT, ROUNDS_KEPT, type RoundRow, type WriteBatch } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import {
  batchOf,
  chained,
  jobIdOf,
  newJob,
  START,
  sampleEntry,
  sampleFailure,
  sampleJob,
  sampleLease,
  sampleResult,
  sampleRound,
} from './sample-rows.ts'
import type { Subject } from './tables-conformance.ts'

/** The result of a registration, with a booking number. */
const BROUGHT = {
  output: encodeCbor({ outcome: 'booked', booking_number: 'B-7', fee_status: 'none' }),
  meta: encodeCbor({ sent_after_ms: 3, note: 'B-7' }),
}

export function pruneRules({ tables, apply, reopen }: Subject): void {
  const ended = (n: number, endedAt: number) => sampleJob(n, { status: 'COMPLETED', endedAt })

  it('STORE-10: a job that ended before the time goes with all that is its own, the rest stays', async () => {
    const jobs = [ended(1, START - 1), ended(2, START), sampleJob(3)]
    const newLeases = [1, 2, 3].map((n) => sampleLease(n, { status: 'COMPLETED' }))
    const results = [1, 2].map((n) => sampleResult(n))
    const journal = [1, 2, 3].map((n) => sampleEntry(n, { jobSeq: n }))
    const newJobs = jobs.map((row) => newJob(row))
    const failures = [1, 2].map((n) => sampleFailure(n))
    await apply(batchOf({ newJobs, newLeases, results, failures, journal }))
    await apply(batchOf({ pruneEndedBefore: START }))
    await reopen()
    const { read } = tables()
    expect(await read.jobs({ afterSeq: 0, limit: 10 })).toEqual(jobs.slice(1))
    expect(await read.job(jobIdOf(1))).toBeNull()
    const keys = jobs.slice(0, 2)
    expect((await read.jobsByTx(keys)).map((job) => job?.id)).toEqual([undefined, jobIdOf(2)])
    expect(await read.payloads([1, 2])).toEqual([null, newJobs[1]?.payload])
    expect(await read.leases(jobIdOf(1))).toEqual([])
    expect(await read.lease(sampleLease(1).id)).toBeNull()
    expect(await read.leases(jobIdOf(2))).toEqual([newLeases[1]])
    expect(await read.failures(jobIdOf(1))).toEqual([])
    expect(await read.failures(jobIdOf(2))).toEqual(failures.slice(1))
    expect(await read.result(jobIdOf(1))).toEqual(results[0])
    const entries = chained(journal)
    expect(await read.timeline(jobIdOf(1))).toEqual([])
    expect(await read.timeline(jobIdOf(2))).toEqual([entries[1]])
    expect(await read.journal(0, 10)).toEqual(entries)
  })

  it('STORE-22: jobs that are named go with all that is their own, if they have ended', async () => {
    const jobs = [ended(1, START), ended(2, START), sampleJob(3), ended(4, START + 1)]
    const newLeases = [1, 2, 3].map((n) => sampleLease(n, { status: 'COMPLETED' }))
    const results = [1, 2, 4].map((n) => sampleResult(n, { at: START + n }))
    const failures = [1, 2].map((n) => sampleFailure(n))
    const newJobs = jobs.map((row) => newJob(row))
    await apply(batchOf({ newJobs, newLeases, results, failures }))
    const prunedJobs = [
      { seqs: [2, 3, 99], resultsBefore: START + 2 },
      { seqs: [4], resultsBefore: START + 5 },
    ]
    await apply(batchOf({ prunedJobs }))
    await reopen()
    const { read } = tables()
    expect(await read.jobs({ afterSeq: 0, limit: 10 })).toEqual([jobs[0], jobs[2]])
    expect(await read.payloads([1, 2, 3, 4])).toEqual([
      newJobs[0]?.payload,
      null,
      newJobs[2]?.payload,
      null,
    ])
    expect(await read.lease(sampleLease(2).id)).toBeNull()
    expect(await read.lease(sampleLease(3).id)).toEqual(newLeases[2])
    expect(await read.failures(jobIdOf(2))).toEqual([])
    // Its result is not from before the time, and stays for as long as results do.
    expect(await read.result(jobIdOf(2))).toEqual(results[1])
    expect(await read.result(jobIdOf(4))).toBeNull()
    expect((await read.jobsByTx([jobs[1] as never])).map((job) => job?.id)).toEqual([undefined])
    await apply(batchOf({ pruneResultsBefore: START + 3 }))
    expect(await read.result(jobIdOf(2))).toBeNull()
    expect(await read.result(jobIdOf(1))).toEqual(results[0])
    // The name and the key of a job that is gone are free.
    await apply(batchOf({ newJobs: [newJob({ ...sampleJob(2), seq: 5 })] }))
    expect((await read.job(jobIdOf(2)))?.seq).toBe(5)
  })

  it('STORE-22: results of jobs that are named stay where no time is given', async () => {
    const newJobs = [newJob(ended(1, START))]
    await apply(batchOf({ newJobs, results: [sampleResult(1)] }))
    await apply(batchOf({ prunedJobs: [{ seqs: [1], resultsBefore: null }] }))
    expect(await tables().read.job(jobIdOf(1))).toBeNull()
    expect(await tables().read.result(jobIdOf(1))).toEqual(sampleResult(1))
  })

  it('STORE-8: ended jobs are listed by their ends', async () => {
    const jobs = [
      ended(1, START + 2),
      sampleJob(2),
      ended(3, START),
      ended(4, START),
      ended(5, START + 3),
    ]
    await apply(batchOf({ newJobs: jobs.map((row) => newJob(row)) }))
    const { read } = tables()
    const list = async (after: { at: number; seq: number }, before: number, limit = 10) =>
      (await read.jobs({ ended: { after, before }, afterSeq: 0, limit })).map(({ seq }) => seq)
    expect(await list({ at: 0, seq: 0 }, START + 10)).toEqual([3, 4, 1, 5])
    expect(await list({ at: 0, seq: 0 }, START + 3)).toEqual([3, 4, 1])
    expect(await list({ at: START, seq: 3 }, START + 10, 2)).toEqual([4, 1])
    expect(await list({ at: START, seq: 4 }, START + 1)).toEqual([])
  })

  it('STORE-16: of registrations that ended in a span nothing but where and when stays', async () => {
    const where = { event_id: 'swim', org_ref: 'north', provider: 'bookeo', scheduled_time: START }
    const said = encodeCbor({ ...where, user_id: 'user-1', args: { child: 'Kim' } })
    const registration = (n: number, endedAt: number) =>
      newJob({ ...ended(n, endedAt), kind: 'registration' }, said)
    const newJobs = [
      registration(1, START - 1),
      registration(2, START),
      registration(3, START + 9),
      registration(4, START + 10),
      newJob({ ...sampleJob(5), kind: 'registration' }, said),
      newJob({ ...ended(6, START), kind: 'task' }, said),
      newJob({ ...ended(7, START), kind: 'registration' }, Uint8Array.of(0xff)),
    ]
    // The last of them ends in the batch that erases.
    const results12 = [1, 2].map((n) => ({ ...sampleResult(n), ...BROUGHT }))
    await apply(batchOf({ newJobs: newJobs.slice(0, -1), results: results12 }))
    const eraseEnded = { from: START, before: START + 10 }
    await apply(batchOf({ newJobs: newJobs.slice(-1), eraseEnded }))
    await reopen()
    const left = encodeCbor(where)
    const { read } = tables()
    expect(await read.payloads([1, 2, 3, 4, 5, 6, 7])).toEqual(
      [said, left, left, said, said, said, Uint8Array.of(0xa0)].map((bytes) =>
        Uint8Array.from(bytes),
      ),
    )
    const rows = newJobs.map(({ row }) => row)
    expect(await read.jobs({ afterSeq: 0, limit: 10 })).toEqual(rows)
    const [found] = await read.jobsByTx(rows.slice(1, 2))
    expect(found).toEqual({ id: jobIdOf(2), payload: Uint8Array.from(left) })
    // Of their results the booking number goes, and how they ended stays.
    const ends = encodeCbor({ outcome: 'booked', fee_status: 'none' })
    const results = await Promise.all([1, 2, 5].map((n) => read.result(jobIdOf(n))))
    expect(results.map((row) => row && [row.output, row.meta])).toEqual([
      [Uint8Array.from(BROUGHT.output), Uint8Array.from(BROUGHT.meta)],
      [Uint8Array.from(ends), Uint8Array.from(encodeCbor({ sent_after_ms: 3 }))],
      null,
    ])
    // What was erased is not erased again, and not brought back.
    const before = await read.everything()
    await apply(batchOf({ eraseEnded }))
    expect(await read.everything()).toEqual(before)
  })

  it('STORE-16: a result that outlives its job is erased before the job is deleted', async () => {
    const row = { ...ended(1, START), kind: 'registration' as const }
    const results = [{ ...sampleResult(1), ...BROUGHT }]
    await apply(batchOf({ newJobs: [newJob(row)], results }))
    const eraseEnded = { from: START, before: START + 1 }
    await apply(batchOf({ eraseEnded, pruneEndedBefore: START + 1 }))
    const { read } = tables()
    expect(await read.job(jobIdOf(1))).toBeNull()
    const left = encodeCbor({ outcome: 'booked', fee_status: 'none' })
    expect((await read.result(jobIdOf(1)))?.output).toEqual(Uint8Array.from(left))
  })

  it('STORE-15: entries of the journal up to a number are deleted, and the chain goes on', async () => {
    const records = Array.from({ length: 100 }, (_, i) => sampleEntry(i + 1, { jobSeq: 1 }))
    const newJobs = [newJob(sampleJob(1))]
    await apply(batchOf({ newJobs, journal: records.slice(0, 70) }))
    await apply(batchOf({ journal: records.slice(70, 80), cutJournalAt: 40 }))
    const entries = chained(records)
    const { read } = tables()
    expect(await read.journal(0, 1_000)).toEqual(entries.slice(40, 80))
    expect(await read.journal(45, 3)).toEqual(entries.slice(45, 48))
    expect(await read.timeline(jobIdOf(1))).toEqual(entries.slice(40, 80))
    await reopen()
    await apply(batchOf({ journal: records.slice(80), cutJournalAt: 64 }))
    // What is gone cannot go again.
    await apply(batchOf({ cutJournalAt: 64 }))
    await apply(batchOf({ cutJournalAt: 3 }))
    expect(await tables().read.journal(0, 1_000)).toEqual(entries.slice(64))
    expect((await tables().load()).lastEntry).toBe(entries.length)
    const all = (await tables().read.everything()).filter(([table]) => table === 'journal')
    expect(all.map(([, row]) => row)).toEqual(entries.slice(64))
  })

  it('STORE-15: the newest entry stays', async () => {
    await apply(batchOf({ journal: [sampleEntry(1), sampleEntry(2)] }))
    const code = 'StoreUnavailable'
    await expect(apply(batchOf({ cutJournalAt: 2 }))).rejects.toMatchObject({ code })
    await apply(batchOf({ cutJournalAt: 1 }))
    await reopen()
    await apply(batchOf({ journal: [sampleEntry(3)] }))
    const rest = chained([1, 2, 3].map((n) => sampleEntry(n))).slice(1)
    expect(await tables().read.journal(0, 9)).toEqual(rest)
  })

  it('STORE-10: the names of a deleted job are free again, even in the same batch', async () => {
    const first = ended(1, START)
    await apply(
      batchOf({
        newJobs: [newJob(first)],
        newLeases: [sampleLease(1, { status: 'COMPLETED' })],
        results: [sampleResult(1)],
        journal: [sampleEntry(1)],
      }),
    )
    const again = sampleJob(1, { seq: 2 })
    const newLeases = [sampleLease(1, { jobSeq: 2 })]
    const newJobs = [newJob(again, Uint8Array.of(2))]
    const journal = [sampleEntry(2, { jobSeq: 2 })]
    await apply(batchOf({ newJobs, newLeases, journal, pruneEndedBefore: START + 1 }))
    await reopen()
    const { read } = tables()
    expect(await read.job(first.id)).toEqual(again)
    expect(await read.jobsByTx([first])).toEqual([{ id: first.id, payload: Uint8Array.of(2) }])
    expect(await read.payloads([1, 2])).toEqual([null, Uint8Array.of(2)])
    expect(await read.leases(first.id)).toEqual(newLeases)
    expect(await read.lease(sampleLease(1).id)).toEqual(newLeases[0])
    expect(await read.timeline(first.id)).toEqual(chained([sampleEntry(1), ...journal]).slice(1))
  })

  it('STORE-8: of several jobs of one id the one that is there has the result, then the newest', async () => {
    const resultOf = (seq: number) => sampleResult(1, { jobSeq: seq, units: seq })
    const end = (seq: number) => ({ ...ended(1, START), seq })
    const begin = (seq: number) => [newJob(sampleJob(1, { seq }))]
    const commit = (given: Partial<WriteBatch>) => apply(batchOf(given))
    const result = () => tables().read.result(jobIdOf(1))
    const prune = { pruneEndedBefore: START + 1 }

    await commit({ newJobs: begin(1) })
    expect(await result()).toBeNull()
    await commit({ jobs: [end(1)], results: [resultOf(1)] })
    expect(await result()).toEqual(resultOf(1))
    await commit(prune)
    expect(await result()).toEqual(resultOf(1))
    await commit({ newJobs: begin(2) })
    expect(await result()).toBeNull()
    await commit({ jobs: [end(2)], results: [resultOf(2)] })
    expect(await result()).toEqual(resultOf(2))
    await commit(prune)
    await reopen()
    expect(await result()).toEqual(resultOf(2))
    // One that ends without a result hides the older ones only while it is there.
    await commit({ newJobs: begin(3) })
    expect(await result()).toBeNull()
    await commit({ jobs: [end(3)], ...prune })
    expect(await result()).toEqual(resultOf(2))
    const rows = (await tables().read.everything()).filter(([table]) => table === 'results')
    expect(rows.map(([, row]) => row)).toEqual([resultOf(1), resultOf(2)])
  })

  it('STORE-10: a result stays when its job is deleted in the batch that brings both', async () => {
    const newJobs = [newJob(ended(1, START))]
    const results = [sampleResult(1)]
    await apply(batchOf({ newJobs, results, pruneEndedBefore: START + 1 }))
    await reopen()
    expect(await tables().read.job(jobIdOf(1))).toBeNull()
    expect(await tables().read.result(jobIdOf(1))).toEqual(results[0])
  })

  it('STORE-10: a result goes once it is old enough and its job is gone, and not before', async () => {
    const resultAt = (n: number, at: number) => sampleResult(n, { at })
    const left = async () => {
      const rows = await tables().read.everything()
      return rows
        .flatMap(([table, row]) => (table === 'results' ? [row['jobSeq'] as number] : []))
        .sort((a, b) => a - b)
    }
    const commit = (given: Partial<WriteBatch>) => apply(batchOf(given))
    const newJobs = [1, 2, 3].map((n) => newJob(ended(n, START + n)))
    const results = [1, 2, 3].map((n) => resultAt(n, START + n))
    await commit({ newJobs: [...newJobs, newJob(sampleJob(4))], results })
    await commit({ results: [resultAt(4, START)] })
    const in10 = START + 10
    // All of them are old, but none of the jobs is gone.
    await commit({ pruneResultsBefore: in10 })
    expect(await left()).toEqual([1, 2, 3, 4])
    // The first two jobs go, and one result with them.
    await commit({ pruneEndedBefore: START + 3, pruneResultsBefore: START + 2 })
    expect(await left()).toEqual([2, 3, 4])
    expect(await tables().read.result(jobIdOf(1))).toBeNull()
    expect(await tables().read.result(jobIdOf(2))).toEqual(results[1])
    await reopen()
    // No job goes, and the result of one that is gone does; its own time is not before it.
    await commit({ pruneEndedBefore: START + 3, pruneResultsBefore: START + 2 })
    await commit({ pruneEndedBefore: START + 3, pruneResultsBefore: null })
    expect(await left()).toEqual([2, 3, 4])
    await commit({ pruneEndedBefore: START + 3, pruneResultsBefore: START + 3 })
    expect(await left()).toEqual([3, 4])
    expect(await tables().read.result(jobIdOf(2))).toBeNull()
    // Without an age for results they stay, and go when there is one again.
    await commit({ pruneEndedBefore: in10 })
    expect(await left()).toEqual([3, 4])
    await commit({ pruneResultsBefore: in10 })
    expect(await left()).toEqual([4])
    await reopen()
    expect(await left()).toEqual([4])
  })

  it('STORE-10: a result goes in the batch that brings it, where its job goes and it is old', async () => {
    const newJobs = [newJob(ended(1, START)), newJob(ended(2, START))]
    const results = [sampleResult(1, { at: START }), sampleResult(2, { at: START + 1 })]
    const times = { pruneEndedBefore: START + 1, pruneResultsBefore: START + 1 }
    await apply(batchOf({ newJobs, results, ...times }))
    expect(await tables().read.everything()).toEqual([['results', results[1]]])
  })

  it('STORE-8: of the results of deleted jobs of one id, the newest that is left is found', async () => {
    const commit = (given: Partial<WriteBatch>) => apply(batchOf(given))
    const resultOf = (seq: number, at: number) => sampleResult(1, { jobSeq: seq, at })
    const [older, newer] = [resultOf(1, START + 9), resultOf(2, START)]
    for (const result of [older, newer]) {
      const newJobs = [newJob({ ...ended(1, START), seq: result.jobSeq })]
      await commit({ newJobs, results: [result] })
      await commit({ pruneEndedBefore: START + 1 })
    }
    expect(await tables().read.result(jobIdOf(1))).toEqual(newer)
    await commit({ pruneResultsBefore: START + 1 })
    expect(await tables().read.result(jobIdOf(1))).toEqual(older)
    await commit({ pruneResultsBefore: START + 10 })
    expect(await tables().read.result(jobIdOf(1))).toBeNull()
  })

  it('STORE-10: a job keeps the failures of its newest attempts', async () => {
    const of = (attempt: number) => sampleFailure(1, { attempt })
    const attempts = async () => {
      const failures = await tables().read.failures(jobIdOf(1))
      return failures.map(({ attempt }) => attempt)
    }
    const upTo = (last: number) => Array.from({ length: FAILURES_KEPT }, (_, i) => last - i)
    const newJobs = [newJob(sampleJob(1)), newJob(sampleJob(2))]
    const failures = upTo(FAILURES_KEPT - 1).map(of)
    await apply(batchOf({ newJobs, failures: [...failures, sampleFailure(2)] }))
    expect(await attempts()).toEqual(upTo(FAILURES_KEPT - 1).toReversed())
    await apply(batchOf({ failures: [of(FAILURES_KEPT)] }))
    expect(await attempts()).toEqual(upTo(FAILURES_KEPT).toReversed())
    await reopen()
    // Several in one batch, and after a gap.
    await apply(batchOf({ failures: [FAILURES_KEPT + 1, FAILURES_KEPT + 2].map(of) }))
    expect(await attempts()).toEqual(upTo(FAILURES_KEPT + 2).toReversed())
    await apply(batchOf({ failures: [of(3 * FAILURES_KEPT)] }))
    expect(await attempts()).toEqual([3 * FAILURES_KEPT])
    expect(await tables().read.failures(jobIdOf(2))).toEqual([sampleFailure(2)])
    const rows = await tables().read.everything()
    expect(rows.filter(([table]) => table === 'failures')).toHaveLength(2)
  })

  it('STORE-10: a job that takes the id of a deleted one has none of its failures', async () => {
    const newJobs = [newJob(ended(1, START))]
    await apply(batchOf({ newJobs, failures: [sampleFailure(1)] }))
    const again = [newJob(sampleJob(1, { seq: 2 }))]
    await apply(batchOf({ newJobs: again, pruneEndedBefore: START + 1 }))
    expect(await tables().read.failures(jobIdOf(1))).toEqual([])
  })

  it('STORE-2: a refused batch deletes nothing, and gives no name away', async () => {
    const first = ended(1, START)
    const newLeases = [sampleLease(1, { status: 'COMPLETED' })]
    await apply(batchOf({ newJobs: [newJob(first)], newLeases, journal: [sampleEntry(1)] }))
    const before = await tables().read.everything()
    const again = batchOf({
      newJobs: [newJob(sampleJob(1, { seq: 2 }), Uint8Array.of(2))],
      newLeases: [sampleLease(1, { jobSeq: 2 })],
      journal: [sampleEntry(2, { jobSeq: 2 }), sampleEntry(2)],
      pruneEndedBefore: START + 1,
    })
    await expect(apply(again)).rejects.toMatchObject({ code: 'StoreUnavailable' })
    const { read } = tables()
    expect(await read.everything()).toEqual(before)
    expect(await read.job(first.id)).toEqual(first)
    expect((await read.jobsByTx([first])).map((job) => job?.id)).toEqual([first.id])
    expect(await read.lease(sampleLease(1).id)).toEqual(newLeases[0])
    expect(await read.timeline(first.id)).toEqual(chained([sampleEntry(1)]))
  })

  it('STORE-10: a job whose end in this very batch is long ago goes at once', async () => {
    await apply(batchOf({ newJobs: [newJob(sampleJob(1))] }))
    await apply(batchOf({ jobs: [ended(1, START)], pruneEndedBefore: START + 1 }))
    expect(await tables().read.everything()).toEqual([])
  })

  it('STORE-10: the newest rounds are kept, each with all of its kinds', async () => {
    const kinds = ['ai', 'quantum'] as const
    const of = (from: number, to: number): RoundRow[] =>
      Array.from({ length: to - from + 1 }, (_, i) => from + i).flatMap((height) =>
        kinds.map((kind) => sampleRound(height, { kind, assignments: [], refusals: [] })),
      )
    await apply(batchOf({ rounds: of(1, ROUNDS_KEPT) }))
    expect(await tables().read.round(1, 'ai')).not.toBeNull()
    await apply(batchOf({ rounds: of(ROUNDS_KEPT + 1, ROUNDS_KEPT + 2) }))
    for (const kind of kinds) {
      expect(await tables().read.round(2, kind)).toBeNull()
      expect(await tables().read.round(3, kind)).not.toBeNull()
      expect(await tables().read.round(ROUNDS_KEPT + 2, kind)).not.toBeNull()
    }
  })

  it('STORE-10: of more rounds than are kept, in no order and far apart, the newest are there after a restart', async () => {
    const rounds = Array.from({ length: ROUNDS_KEPT + 50 }, (_, i) =>
      sampleRound(7 * ((i * 11) % (ROUNDS_KEPT + 50)) + 1, { assignments: [], refusals: [] }),
    )
    await apply(batchOf({ rounds: rounds.slice(0, 600) }))
    await apply(batchOf({ rounds: rounds.slice(600) }))
    await reopen()
    const kept = rounds.toSorted((a, b) => a.height - b.height).slice(50)
    expect(await tables().read.everything()).toEqual(kept.map((row) => ['rounds', row]))
  })
}
