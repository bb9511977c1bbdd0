import type { Caller, JobId, JobRow, LeaseId } from '@fairlead/core'
import type { JobFilter, KeyPrints } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import {
  batchOf,
  callerOf,
  chained,
  hashOf,
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

/** One is stored in another way than the others, and one job in five has none. */
const MODELS = ['m', 'm\u0000', '', 'M']

/** The first digits of the id of the n-th job. */
const digitsOf = (n: number, digits: number): string => jobIdOf(n).slice(0, 2 + digits)

const ORIGINS = [null, { schedule: 'night' }, { schedule: 'nightly', scheduledAt: START }]

const OPTIONS = [null, { tags: ['red', 'a:b'] }, { dedupeKey: 'say "x" \0' }, { tags: ['red'] }]

/** Twelve jobs that differ in everything that a filter looks at. Heights go beyond 2^63. */
const JOBS: readonly JobRow[] = Array.from({ length: 12 }, (_, i) => {
  const status = (['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED'] as const)[i % 4] ?? 'QUEUED'
  return sampleJob(i + 1, {
    status,
    endedAt: i % 4 < 2 ? null : START + i,
    providerId: i % 4 === 0 ? null : providerOf(i % 3),
    caller: callerOf(i % 2),
    kind: i % 3 === 0 ? 'task' : 'ai',
    model: MODELS[i % 5] ?? null,
    enqueueHeight: 10n ** BigInt(i + 8),
    options: OPTIONS[i % 4] ?? null,
    origin: ORIGINS[i % 3] ?? null,
  })
})

/** Each with what it has to find, told by the seq. */
const FILTERS: readonly (readonly [filter: Partial<Omit<JobFilter, 'ended'>>, seqs: number[]])[] = [
  [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
  [{ afterSeq: 9 }, [10, 11, 12]],
  [{ afterSeq: 12 }, []],
  [{ limit: 2 }, [1, 2]],
  [{ limit: 0 }, []],
  [{ afterSeq: 5, limit: 3 }, [6, 7, 8]],
  [{ status: 'QUEUED' }, [1, 5, 9]],
  [{ status: 'QUEUED', afterSeq: 1, limit: 1 }, [5]],
  [{ status: 'COMPLETED' }, [3, 7, 11]],
  [{ status: 'CANCELED' }, []],
  [{ providerId: providerOf(1) }, [2, 8, 11]],
  [{ caller: callerOf(0) }, [1, 3, 5, 7, 9, 11]],
  [{ caller: callerOf(0), afterSeq: 4, limit: 2 }, [5, 7]],
  [{ beforeSeq: 4 }, [3, 2, 1]],
  [{ beforeSeq: 1_000, limit: 2 }, [12, 11]],
  [{ status: 'QUEUED', beforeSeq: 6, limit: 2 }, [5, 1]],
  [{ caller: callerOf(0), beforeSeq: 8, limit: 2 }, [7, 5]],
  [{ caller: callerOf(0), status: 'QUEUED' }, [1, 5, 9]],
  [{ caller: callerOf(1), status: 'QUEUED' }, []],
  [{ caller: callerOf(7) }, []],
  [{ kind: 'task' }, [1, 4, 7, 10]],
  [{ kind: 'quantum' }, []],
  [{ model: 'm' }, [1, 6, 11]],
  [{ model: 'm\u0000' }, [2, 7, 12]],
  [{ model: '' }, [3, 8]],
  [{ model: 'm\u0000x' }, []],
  [{ model: 'm', kind: 'ai' }, [6, 11]],
  [{ model: 'm', caller: callerOf(0), beforeSeq: 12, limit: 1 }, [11]],
  [{ model: 'M', status: 'FAILED' }, [4]],
  [{ model: 'M', status: 'QUEUED', beforeSeq: 10 }, [9]],
  [{ idPrefix: digitsOf(5, 8) }, [5]],
  [{ idPrefix: digitsOf(5, 9) }, [5]],
  [{ idPrefix: digitsOf(5, 64) }, [5]],
  [{ idPrefix: digitsOf(99, 8) }, []],
  [{ idPrefix: `${digitsOf(5, 8)}${'f'.repeat(56)}` }, []],
  [{ idPrefix: digitsOf(5, 8), afterSeq: 4 }, [5]],
  [{ idPrefix: digitsOf(5, 8), afterSeq: 5 }, []],
  [{ idPrefix: digitsOf(5, 8), beforeSeq: 6 }, [5]],
  [{ idPrefix: digitsOf(5, 8), beforeSeq: 5 }, []],
  [{ idPrefix: digitsOf(5, 8), limit: 0 }, []],
  [{ idPrefix: digitsOf(5, 8), status: 'QUEUED', caller: callerOf(0), kind: 'ai' }, [5]],
  [{ idPrefix: digitsOf(5, 8), caller: callerOf(1) }, []],
  [{ idPrefix: digitsOf(5, 8), status: 'FAILED' }, []],
  [{ idPrefix: digitsOf(5, 8), kind: 'task' }, []],
  [{ idPrefix: digitsOf(7, 8), model: 'm\u0000', providerId: providerOf(0) }, [7]],
  [{ idPrefix: digitsOf(7, 8), model: 'm' }, []],
  [{ idPrefix: digitsOf(7, 8), providerId: providerOf(1) }, []],
  [{ idPrefix: digitsOf(7, 8), afterHeight: 10n ** 14n }, []],
  [{ idPrefix: digitsOf(5, 7) }, []],
  [{ idPrefix: digitsOf(5, 8).toUpperCase() }, []],
  [{ idPrefix: digitsOf(5, 8).slice(2) }, []],
  [{ idPrefix: `${jobIdOf(5)}0` }, []],
  [{ idPrefix: '' }, []],
  [{ tag: 'red' }, [2, 4, 6, 8, 10, 12]],
  [{ tag: 'a:b', afterSeq: 2, limit: 1 }, [6]],
  [{ tag: 're' }, []],
  [{ dedupeKey: 'say "x" \0' }, [3, 7, 11]],
  [{ dedupeKey: 'say' }, []],
  [{ schedule: 'night' }, [2, 5, 8, 11]],
  [{ schedule: 'nightly', caller: callerOf(0) }, [3, 9]],
  [{ schedule: 'nigh' }, []],
  [{ tag: 'red', status: 'RUNNING', beforeSeq: 7 }, [6, 2]],
  [{ txHash: sampleJob(5).txHash }, [5]],
  [{ txHash: sampleJob(5).txHash, caller: callerOf(0) }, [5]],
  [{ txHash: sampleJob(5).txHash, caller: callerOf(1) }, []],
  [{ txHash: sampleJob(5).txHash, caller: callerOf(0), afterSeq: 5 }, []],
  [{ txHash: sampleJob(5).txHash, caller: callerOf(0), beforeSeq: 5 }, []],
  [{ since: sampleJob(11).enqueueTs }, [11, 12]],
  [{ until: sampleJob(3).enqueueTs, caller: callerOf(0) }, [1]],
  [{ afterHeight: 10n ** 15n }, [9, 10, 11, 12]],
  [{ afterHeight: 10n ** 15n - 1n }, [8, 9, 10, 11, 12]],
  [{ afterHeight: 2n ** 64n - 1n }, []],
  [{ afterHeight: 0n, kind: 'ai', caller: callerOf(1), status: 'FAILED' }, [8, 12]],
  [{ kind: 'ai', status: 'RUNNING', providerId: providerOf(2) }, [6]],
]

export function readRules({ tables, apply, reopen }: Subject): void {
  const applyJobs = () => apply(batchOf({ newJobs: JOBS.map((row) => newJob(row)) }))

  it('STORE-4: new tables are empty', async () => {
    expect(await tables().load()).toEqual({
      batch: 0,
      jobs: [],
      leases: [],
      providers: [],
      shares: [],
      lanes: [],
      meta: {},
      due: new Uint8Array(),
      lastEntry: 0,
    })
    expect(await tables().read.everything()).toEqual([])
  })

  it('STORE-4: load gives what is alive, in order, after a restart as before', async () => {
    const alive = [2, 1].map((n) => sampleJob(n, { status: 'RUNNING' }))
    const ended = sampleJob(3, { status: 'EXPIRED', endedAt: START })
    const leases = [
      sampleLease(2, { attempt: 1, tStart: START + 5 }),
      sampleLease(1, { attempt: 0, tStart: START + 5 }),
      sampleLease(2, { attempt: 0, tStart: START + 5, status: 'EXPIRED' }),
      sampleLease(3, { tStart: START + 1, status: 'EXPIRED' }),
    ]
    const providers = [sampleProvider(2), sampleProvider(1)]
    const shares = [1, 2].map((n) => ({ kind: 'ai' as const, caller: callerOf(n), finish: 1n }))
    const journal = [sampleEntry(1), sampleEntry(2)]
    await apply(
      batchOf({
        newJobs: [...alive, ended].map((row) => newJob(row)),
        newLeases: leases,
        providers,
        shares,
        journal,
        meta: { enqueue_seq: '3' },
      }),
    )
    const before = await tables().load()
    expect(before.jobs).toEqual(alive.toReversed())
    // Oldest first, then by attempt, then in order of acceptance.
    expect(before.leases).toEqual([leases[1], leases[2], leases[0]])
    expect(before.providers).toEqual(providers.toReversed())
    expect(before.shares).toEqual(shares.toSorted((a, b) => (a.caller < b.caller ? -1 : 1)))
    expect(before.meta).toEqual({ enqueue_seq: '3' })
    expect(before.lastEntry).toBe(2)
    await reopen()
    expect(await tables().load()).toEqual(before)
  })

  for (const [filter, seqs] of FILTERS) {
    const shown = Object.entries(filter).map(([field, value]) => `${field} ${String(value)}`)
    it(`STORE-8: finds jobs by ${shown.join(', ') || 'nothing'}`, async () => {
      await applyJobs()
      const found = await tables().read.jobs({ afterSeq: 0, limit: 100, ...filter })
      expect(found.map(({ seq }) => seq)).toEqual(seqs)
      expect(found).toEqual(seqs.map((seq) => JOBS.find((job) => job.seq === seq)))
    })
  }

  it('STORE-8: ids that begin alike are told apart by the digits that follow, whatever became of the jobs', async () => {
    const start = '0x0123456'
    // The last two have the name of the others in a store that looks at 31 bits.
    const ids = ['7a', '7b', '7b1', '6a'].map((rest) => (start + rest).padEnd(66, '0') as JobId)
    const jobs = ids.map((id, i) => sampleJob(i + 1, { id }))
    const list = async (filter: Partial<JobFilter>) => {
      const found = await tables().read.jobs({ afterSeq: 0, limit: 9, ...filter })
      return found.map(({ seq, status }) => [seq, status])
    }
    await apply(batchOf({ newJobs: jobs.slice(0, 3).map((row) => newJob(row)) }))
    expect(await list({ idPrefix: `${start}7` })).toEqual([1, 2, 3].map((n) => [n, 'QUEUED']))
    await reopen()
    const running = { ...(jobs[1] as JobRow), status: 'RUNNING' } as const
    await apply(batchOf({ newJobs: [newJob(jobs[3] as JobRow)], jobs: [running] }))
    expect(await list({ idPrefix: `${start}7` })).toEqual([
      [1, 'QUEUED'],
      [2, 'RUNNING'],
      [3, 'QUEUED'],
    ])
    expect(await list({ idPrefix: `${start}7b`, beforeSeq: 9 })).toEqual([
      [3, 'QUEUED'],
      [2, 'RUNNING'],
    ])
    expect(await list({ idPrefix: `${start}7`, status: 'QUEUED' })).toEqual([
      [1, 'QUEUED'],
      [3, 'QUEUED'],
    ])
    expect(await list({ idPrefix: `${start}7b1` })).toEqual([[3, 'QUEUED']])
    expect(await list({ idPrefix: `${start}6` })).toEqual([[4, 'QUEUED']])
    expect(await list({ idPrefix: `${start}7`, limit: 1, afterSeq: 1 })).toEqual([[2, 'RUNNING']])
  })

  it('STORE-8: a job is found by the code of its last failure, and by no earlier one', async () => {
    const failures = [
      sampleFailure(1, { attempt: 0, code: 'oom' }),
      sampleFailure(1, { attempt: 1, code: 'bad_input' }),
      sampleFailure(2, { attempt: 0, code: 'oom' }),
    ]
    const newJobs = [1, 2, 3].map((n) => newJob(sampleJob(n)))
    await apply(batchOf({ newJobs, failures }))
    const list = async (error: string) => {
      const found = await tables().read.jobs({ error, afterSeq: 0, limit: 10 })
      return found.map(({ seq }) => seq)
    }
    expect(await list('oom')).toEqual([2])
    expect(await list('bad_input')).toEqual([1])
    expect(await list('none')).toEqual([])
  })

  it('STORE-8: failures of a job come oldest attempt first', async () => {
    const failures = [2, 0, 1].map((attempt) => sampleFailure(1, { attempt }))
    const newJobs = [newJob(sampleJob(1)), newJob(sampleJob(2))]
    await apply(batchOf({ newJobs, failures: [...failures, sampleFailure(2)] }))
    const inOrder = [failures[1], failures[2], failures[0]]
    expect(await tables().read.failures(jobIdOf(1))).toEqual(inOrder)
    const next = sampleFailure(1, { attempt: 3 })
    await apply(batchOf({ failures: [next] }))
    await reopen()
    expect(await tables().read.failures(jobIdOf(1))).toEqual([...inOrder, next])
    expect(await tables().read.failures(jobIdOf(2))).toEqual([sampleFailure(2)])
  })

  it('STORE-8: pages put together are the whole list', async () => {
    await applyJobs()
    const seqs: number[] = []
    for (;;) {
      const page = await tables().read.jobs({ kind: 'ai', afterSeq: seqs.at(-1) ?? 0, limit: 3 })
      if (page.length === 0) break
      seqs.push(...page.map(({ seq }) => seq))
    }
    expect(seqs).toEqual([2, 3, 5, 6, 8, 9, 11, 12])
  })

  it('STORE-8: what is not there is null or an empty list', async () => {
    const { read } = tables()
    expect(await read.job(jobIdOf(1))).toBeNull()
    expect(await read.jobsByTx([{ caller: callerOf(1), txHash: hashOf(1) }])).toEqual([null])
    expect(await read.jobsByTx([])).toEqual([])
    expect(await read.payloads([1, 2])).toEqual([null, null])
    expect(await read.payloads([])).toEqual([])
    expect(await read.lease(leaseIdOf(1))).toBeNull()
    expect(await read.result(jobIdOf(1))).toBeNull()
    expect(await read.round(1, 'ai')).toBeNull()
    expect(await read.leases(jobIdOf(1))).toEqual([])
    expect(await read.failures(jobIdOf(1))).toEqual([])
    expect(await read.timeline(jobIdOf(1))).toEqual([])
    expect(await read.journal(0, 10)).toEqual([])
    expect(await read.assignmentsSince(0)).toEqual([])
  })

  it.each(['', '1', '0x', jobIdOf(1).toUpperCase(), `${jobIdOf(1)}00`])(
    'STORE-8: under what is no id, %j, there is nothing, and the store goes on',
    async (text) => {
      const entry = sampleEntry(1, { jobSeq: 1 })
      await apply(batchOf({ newJobs: [newJob(sampleJob(1))], journal: [entry] }))
      const { read } = tables()
      expect(await read.job(text as JobId)).toBeNull()
      expect(await read.lease(text as LeaseId)).toBeNull()
      expect(await read.result(text as JobId)).toBeNull()
      expect(await read.leases(text as JobId)).toEqual([])
      expect(await read.failures(text as JobId)).toEqual([])
      expect(await read.timeline(text as JobId)).toEqual([])
      expect(await read.jobs({ caller: text as Caller, afterSeq: 0, limit: 9 })).toEqual([])
      expect(await read.job(jobIdOf(1))).not.toBeNull()
    },
  )

  it('STORE-8: payloads are in the order that was asked for, null where there is none', async () => {
    const newJobs = [1, 2, 3].map((n) => newJob(sampleJob(n), Uint8Array.of(n)))
    await apply(batchOf({ newJobs }))
    const { read } = tables()
    const found = await read.payloads([3, 9, 1, 3, 2])
    expect(found).toEqual([[3], null, [1], [3], [2]].map((b) => b && Uint8Array.from(b)))
    const many = await read.payloads(Array.from({ length: 1_500 }, (_, i) => 1_500 - i))
    expect(many).toHaveLength(1_500)
    expect(many.slice(-4)).toEqual([null, ...[3, 2, 1].map((n) => Uint8Array.of(n))])
  })

  it('STORE-8: jobs by key are in the order that was asked for, null where there is none', async () => {
    const jobs = [1, 2, 3].map((n) => sampleJob(n, { caller: callerOf(n) }))
    await apply(batchOf({ newJobs: jobs.map((row) => newJob(row, Uint8Array.of(row.seq))) }))
    const [first, second, third] = jobs as [JobRow, JobRow, JobRow]
    // The key of one under the name of another is nobody's.
    const strange = { caller: first.caller, txHash: second.txHash }
    const of = ({ id, seq }: JobRow) => ({ id, payload: Uint8Array.of(seq) })
    expect(await tables().read.jobsByTx([third, strange, first, third, second])).toEqual([
      of(third),
      null,
      of(first),
      of(third),
      of(second),
    ])
    const absent = Array.from({ length: 1_500 }, (_, i) => ({ ...first, txHash: hashOf(i) }))
    const found = await tables().read.jobsByTx([...absent, first])
    expect(found.filter((job) => job !== null)).toEqual([of(first)])
    expect(found).toHaveLength(1_501)
  })

  it('STORE-8: a job is found by its key whenever it was stored', async () => {
    const jobs = Array.from({ length: 2_300 }, (_, i) => sampleJob(i + 1))
    const commit = (rows: readonly JobRow[]) =>
      apply(batchOf({ newJobs: rows.map((row) => newJob(row, Uint8Array.of(1))) }))
    const absent = jobs.map((row, i) => ({ caller: row.caller, txHash: hashOf(50_000 + i) }))
    const idsOf = async (rows: readonly JobRow[]) => {
      const found = await tables().read.jobsByTx([...rows, ...absent])
      return found.flatMap((job) => (job === null ? [] : [job.id]))
    }
    const ids = jobs.map(({ id }) => id)
    await commit(jobs.slice(0, 1_200))
    await reopen()
    await tables().load()
    // What a store may do to know its keys goes on while it is asked for them.
    await commit(jobs.slice(1_200, 1_201))
    for (let i = 0; i < 5; i++)
      expect(await idsOf(jobs.slice(0, 1_201))).toEqual(ids.slice(0, 1_201))
    await commit(jobs.slice(1_201))
    expect(await idsOf(jobs)).toEqual(ids)
  })

  it('STORE-8: leases of a job by attempt, entries by number', async () => {
    const leases = [2, 0, 1].map((attempt) => sampleLease(1, { attempt, status: 'EXPIRED' }))
    const journal = [1, 2, 3, 4].map((seq) => sampleEntry(seq))
    const newJobs = [newJob(sampleJob(1)), newJob(sampleJob(2))]
    const newLeases = [...leases, sampleLease(2)]
    await apply(batchOf({ newJobs, newLeases, journal }))
    const { read } = tables()
    expect(await read.leases(jobIdOf(1))).toEqual([leases[1], leases[2], leases[0]])
    expect(await read.journal(0, 2)).toEqual(chained(journal).slice(0, 2))
    expect((await read.journal(1, 2)).map(({ seq }) => seq)).toEqual([2, 3])
    expect((await read.journal(3, 2)).map(({ seq }) => seq)).toEqual([4])
    expect(await read.journal(4, 2)).toEqual([])
    expect(await read.journal(9, 2)).toEqual([])
    expect(await read.journal(0, 0)).toEqual([])
  })

  it('STORE-8: pages of the journal put together are the whole of it, however it was written', async () => {
    let last = 0
    for (const length of [1, 7, 0, 30, 2, 1]) {
      const journal = Array.from({ length }, (_, i) => sampleEntry(last + i + 1))
      await apply(batchOf({ journal }))
      last += length
    }
    const seqs: number[] = []
    for (;;) {
      const page = await tables().read.journal(seqs.length, 4)
      if (page.length === 0) break
      seqs.push(...page.map(({ seq }) => seq))
    }
    expect(seqs).toEqual(Array.from({ length: 41 }, (_, i) => i + 1))
  })

  it('STORE-8: a timeline has the entries about a job that is new, changed, or neither', async () => {
    // Of the jobs 1 and 2 by turns, with entries about nobody and about a job that is not there.
    const about = [1, 2, null, 1, 99, 1, 2, 1]
    const journal = about.map((jobSeq, i) => sampleEntry(i + 1, { jobSeq, subject: '' }))
    const newJobs = [newJob(sampleJob(1)), newJob(sampleJob(2))]
    await apply(batchOf({ newJobs, journal: journal.slice(0, 5) }))
    const jobs = [sampleJob(1, { status: 'ASSIGNED' })]
    await apply(batchOf({ jobs, journal: journal.slice(5, 7) }))
    await apply(batchOf({ journal: journal.slice(7) }))
    await reopen()
    const { read } = tables()
    const entries = chained(journal)
    const of = (jobSeq: number) => entries.filter((_, i) => about[i] === jobSeq)
    expect(await read.timeline(jobIdOf(1))).toEqual(of(1))
    expect(await read.timeline(jobIdOf(2))).toEqual(of(2))
    expect(await read.journal(0, 10)).toEqual(entries)
  })

  it('STORE-8: assignments since a time, that time included, oldest first', async () => {
    const newJobs = [1, 2, 3].map((n) => newJob(sampleJob(n, { caller: callerOf(n) })))
    const leases = [1, 2, 3].map((n) => sampleLease(n, { tStart: START + 10 - n }))
    await apply(batchOf({ newJobs, newLeases: leases }))
    expect(await tables().read.assignmentsSince(START + 8)).toEqual([
      { caller: callerOf(2), at: START + 8 },
      { caller: callerOf(1), at: START + 9 },
    ])
  })

  it('STORE-5: gives the prints of all keys that a caller knows, page by page', async () => {
    const jobs = [1, 2, 3, 4, 5].map((n) => sampleJob(n))
    await apply(batchOf({ newJobs: jobs.map((row) => newJob(row)) }))
    const start = (id: string): number => Number.parseInt(id.slice(2, 10), 16)
    const prints: number[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page: KeyPrints = await tables().keyPrints(after, 2)
      prints.push(...page.prints)
      after = page.lastSeq
    }
    const due = jobs.map(({ caller, txHash }) => (start(caller) ^ start(txHash)) >>> 0)
    expect(prints).toEqual(due)
  })

  it('STORE-9: everything is listed by table and id', async () => {
    await applyJobs()
    const rounds = [sampleRound(10), sampleRound(9, { kind: 'task' }), sampleRound(9)]
    const meta = { b: '1', a: '2', '😀': '3', '\uffff': '4' }
    const journal = [sampleEntry(1), sampleEntry(2, { jobSeq: null })]
    const newLeases = [2, 5, 1].map((n) => sampleLease(n))
    const failures = [
      sampleFailure(2, { attempt: 1 }),
      sampleFailure(2),
      ...[4, 1].map((n) => sampleFailure(n)),
    ]
    const shares = [{ kind: 'ai' as const, caller: callerOf(1), finish: 1n }]
    const results = [sampleResult(2), sampleResult(1)]
    await apply(batchOf({ newLeases, rounds, meta, journal, results, failures, shares }))
    const rows = await tables().read.everything()
    const of = (table: string) => rows.filter(([name]) => name === table).map(([, row]) => row)
    const names = ['jobs', 'payloads', 'leases', 'results', 'failures', 'shares', 'rounds']
    names.push('journal', 'meta')
    expect([...new Set(rows.map(([table]) => table))]).toEqual(names)
    expect(of('jobs')).toEqual(JOBS.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    const ids = JOBS.map(({ id }) => id).toSorted()
    expect(of('payloads').map((row) => row['jobId'])).toEqual(ids)
    expect(of('leases')).toEqual(newLeases.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    expect(of('failures')).toEqual(
      failures.toSorted((a, b) =>
        a.jobId === b.jobId ? a.attempt - b.attempt : a.jobId < b.jobId ? -1 : 1,
      ),
    )
    expect(of('results')).toEqual(results.toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1)))
    expect(of('journal')).toEqual(chained(journal))
    expect(of('rounds')).toEqual([rounds[2], rounds[1], rounds[0]])
    // By UTF-8 bytes, so U+1F600 comes last.
    expect(of('meta').map((row) => row['name'])).toEqual(['a', 'b', '\uffff', '😀'])
  })
}
