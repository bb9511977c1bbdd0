import {
  brokenSeq,
  type CborMap,
  JOB_STATUSES,
  type JobRow,
  LEASE_STATUSES,
  PROVIDER_STATUSES,
  type WorkerId,
} from '@fairlead/core'
import { compareText, U64_MAX } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import {
  batchOf,
  callerOf,
  chained,
  hashOf,
  jobIdOf,
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

const ODD_TEXTS = [
  '',
  ' ',
  "'; DROP TABLE jobs; --",
  '"\\',
  'a\u0000b',
  '\u0000',
  'ü€😀',
  '\r\n\t',
  'null',
]

/** A job with a value in every field. */
const FULL_JOB: JobRow = {
  ...sampleJob(1),
  kind: 'quantum',
  tier: 'PREMIUM',
  fee: U64_MAX,
  sizeBytes: Number.MAX_SAFE_INTEGER,
  model: 'm',
  shots: 1_000_000,
  depthHint: 2 ** 32 - 1,
  units: 429_496_729_500,
  tokens: 4_294_967_296,
  regions: ['eu-west', ''],
  needs: { precision: ['fp16', ''], widthHint: 2 ** 32 - 1, gates: [] },
  ttlAbsSecs: 0,
  chainId: U64_MAX,
  enqueueHeight: 2n ** 63n,
  status: 'FAILED',
  providerId: providerOf(1),
  attempt: 3,
  retries: 6,
  declines: 2,
  workerLosses: 1,
  notBefore: START,
  firstAssignedAt: START + 1,
  endedAt: START + 2,
  reason: 'retries_exhausted',
  proofAwaitedSince: START + 3,
  options: {
    runAt: START + 6,
    attempts: 7,
    backoff: { baseMs: 1, factorPermille: 1_500, capMs: 9, jitterPermille: 0 },
    timeoutMs: 60_000,
    priority: -3,
    tags: ['a', 'b:c'],
    dedupeKey: 'key \0 "x"',
    dependsOn: [jobIdOf(1)],
    onDependency: 'run',
  },
  releasedAt: START + 8,
  denials: [
    [providerOf(2), START + 4],
    [providerOf(1), START + 5],
  ],
}

export function roundTripRules({ tables, apply, reopen }: Subject): void {
  it('STORE-1: a job comes back as it was written, with every field and with none', async () => {
    const bare = sampleJob(2, { model: null, kind: 'registration' })
    const needs = { precision: null, widthHint: 0, gates: null }
    const undemanding = sampleJob(3, { needs })
    const payload = Uint8Array.from({ length: 70_000 }, (_, i) => i % 251)
    await apply(
      batchOf({
        newJobs: [newJob(FULL_JOB, payload), newJob(bare, new Uint8Array()), newJob(undemanding)],
      }),
    )
    await reopen()
    const { read } = tables()
    expect(await read.job(FULL_JOB.id)).toEqual(FULL_JOB)
    expect(await read.job(bare.id)).toEqual(bare)
    expect(await read.job(undemanding.id)).toEqual(undemanding)
    expect(await read.payloads([FULL_JOB.seq, bare.seq])).toEqual([payload, new Uint8Array()])
  })

  it('STORE-1: what was written stays, whatever becomes of the bytes that it came in', async () => {
    const payload = Uint8Array.of(1, 2, 3)
    const output = Buffer.of(4, 5, 6)
    const newJobs = [newJob(sampleJob(1), payload)]
    await apply(batchOf({ newJobs, results: [sampleResult(1, { output })] }))
    payload.fill(0)
    output.fill(0)
    expect(await tables().read.payloads([1])).toEqual([Uint8Array.of(1, 2, 3)])
    expect((await tables().read.result(jobIdOf(1)))?.output).toEqual(Uint8Array.of(4, 5, 6))
  })

  it('STORE-1: a change of a job comes back, its facts stay', async () => {
    const first = sampleJob(1)
    await apply(batchOf({ newJobs: [newJob(first)] }))
    const { status, providerId, attempt, retries, declines, notBefore, firstAssignedAt } = FULL_JOB
    const { workerLosses, endedAt, reason, proofAwaitedSince, denials, releasedAt } = FULL_JOB
    const started = { status, providerId, attempt, retries, declines, notBefore, firstAssignedAt }
    const ended = { endedAt, reason, proofAwaitedSince, releasedAt }
    const state = { ...started, workerLosses, ...ended, denials }
    await apply(batchOf({ jobs: [{ id: first.id, seq: first.seq, ...state }] }))
    expect(await tables().read.job(first.id)).toEqual({ ...first, ...state })
  })

  it('STORE-1: every status of jobs, leases and providers can be stored', async () => {
    const jobs = JOB_STATUSES.map((status, i) =>
      sampleJob(i + 1, { status, endedAt: i < 3 ? null : START }),
    )
    const newLeases = LEASE_STATUSES.map((status, i) => sampleLease(i + 1, { status }))
    const providers = PROVIDER_STATUSES.map((status, i) => sampleProvider(i, { status }))
    const newJobs = jobs.map((row) => newJob(row))
    await apply(batchOf({ newJobs, newLeases, providers }))
    const { read } = tables()
    expect(await Promise.all(jobs.map(({ id }) => read.job(id)))).toEqual(jobs)
    expect(await Promise.all(newLeases.map(({ id }) => read.lease(id)))).toEqual(newLeases)
    expect((await tables().load()).providers).toEqual(providers)
  })

  it('STORE-1: leases, providers, results, failures, rounds, shares and lanes come back with every field', async () => {
    const lease = sampleLease(1, {
      status: 'RENEWED',
      renewals: 2,
      isAcked: true,
      digest: hashOf(1),
      attempt: 7,
      workerId: 'w\u0000-1' as WorkerId,
    })
    const uncapped = sampleLease(2, { renewalsMax: null })
    const provider = sampleProvider(1, {
      status: 'SUSPENDED',
      capabilities: ['quantum', 'ai'],
      models: ODD_TEXTS,
      platforms: ODD_TEXTS,
      maxDepth: 0,
      maxShots: 5,
      maxWidth: 0,
      gates: [],
      precision: ODD_TEXTS,
      region: 'eu\u0000',
      allow: [],
      deny: [callerOf(1), callerOf(2)],
      leasesMax: 0,
      stake: U64_MAX,
      attestation: { notBefore: START, notAfter: START + 1 },
      creditedAt: START,
      silentSteps: 2,
      health: 0,
      failures: 3,
      cooldownUntil: START,
      classCooldowns: [
        { kind: 'ai', model: null, until: START },
        { kind: 'task', model: 'a|b', until: START },
      ],
      units: [['ai', 5, Number.MAX_SAFE_INTEGER]],
      workers: [
        { id: 'w-1' as WorkerId, slots: 4, goneSince: null },
        { id: 'w\u0000' as WorkerId, slots: 0, goneSince: START },
      ],
    })
    const output = Uint8Array.of(0, 255)
    const results = [
      sampleResult(1, { output, meta: new Uint8Array(), contentType: 'text/plain\u0000' }),
      sampleResult(2, { output: new Uint8Array(), meta: output, caller: null, contentType: '' }),
    ]
    const failures = [
      sampleFailure(1, { details: output, message: '' }),
      sampleFailure(1, { attempt: 1, details: new Uint8Array(), code: '' }),
      ...ODD_TEXTS.map((text, i) => sampleFailure(2, { attempt: i, code: text, message: text })),
    ]
    const round = sampleRound(1, {
      kind: 'quantum',
      order: 'score',
      providers: [providerOf(3), providerOf(1), providerOf(2)],
      ranks: [0, 0, 1],
      assignments: [
        [jobIdOf(2), providerOf(1), 1],
        [jobIdOf(1), providerOf(2), null],
      ],
      refusals: [
        [],
        [
          [providerOf(3), 'lease_cap_reached'],
          [providerOf(2), 'denied_for_job'],
        ],
      ],
    })
    const empty = sampleRound(2, {
      order: 'rotate',
      providers: [],
      assignments: [],
      refusals: [],
    })
    const share = { kind: 'ai', caller: callerOf(1), finish: 2n ** 90n } as const
    const lanes = ODD_TEXTS.map((key, n) => ({
      lane: 'limit',
      key,
      value: Uint8Array.of(n, 0, 255),
    }))
    await apply(
      batchOf({
        newJobs: [newJob(sampleJob(1)), newJob(sampleJob(2))],
        newLeases: [lease, uncapped],
        lanes,
        providers: [provider],
        results,
        failures,
        rounds: [round, empty],
        shares: [share],
      }),
    )
    await reopen()
    const { read } = tables()
    expect(await read.lease(lease.id)).toEqual(lease)
    expect(await read.lease(uncapped.id)).toEqual(uncapped)
    expect(await read.failures(jobIdOf(1))).toEqual(failures.slice(0, 2))
    expect(await read.failures(jobIdOf(2))).toEqual(failures.slice(2))
    expect(await Promise.all(results.map(({ jobId }) => read.result(jobId)))).toEqual(results)
    expect(await read.round(1, 'quantum')).toEqual(round)
    expect(await read.round(2, 'ai')).toEqual(empty)
    const loaded = await tables().load()
    expect(loaded).toMatchObject({ providers: [provider], shares: [share] })
    const byKey = lanes.toSorted((a, b) => compareText(a.key, b.key))
    expect(loaded.lanes).toEqual(byKey)
  })

  it('STORE-1: a change of a lease comes back, its facts stay', async () => {
    const first = sampleLease(1)
    const newJobs = [newJob(sampleJob(1))]
    await apply(batchOf({ newJobs, newLeases: [first] }))
    const state = {
      status: 'COMPLETED',
      tDeadline: START + 7,
      timeoutAt: START + 5,
      renewals: 3,
      isAcked: true,
      digest: hashOf(2),
      ackTimeoutMs: 1,
      workerId: 'w-2' as WorkerId,
    } as const
    await apply(batchOf({ leases: [{ id: first.id, jobSeq: 1, attempt: 0, ...state }] }))
    await reopen()
    expect(await tables().read.lease(first.id)).toEqual({ ...first, ...state })
  })

  it('STORE-1: entries come back in one chain over batches and restarts, whatever they tell', async () => {
    const details: CborMap[] = [
      {},
      { n: -1, list: [1, [true, null]], deep: { a: { b: 'c' } } },
      { fee: U64_MAX, bytes: Uint8Array.of(1, 2), nested: { least: -(2n ** 64n) } },
      { ['__proto__']: 1, '': 'empty', 'a\u0000': 'b\u0000' },
      // Canonical CBOR has one integer for each of these.
      { one: 1n, zero: -0, edge: 2n ** 53n - 1n, under: [-(2n ** 53n - 1n)] },
      { beyond: 2n ** 53n, below: -(2n ** 53n), empty: new Uint8Array() },
      { long: 'x'.repeat(70_000), [`${'k'.repeat(300)}`]: [[], {}] },
    ]
    const records = [
      ...details.map((given, i) => sampleEntry(i + 1, { details: given })),
      sampleEntry(8, { subject: 'provider:p1', jobSeq: null }),
      sampleEntry(9, { subject: jobIdOf(1), jobSeq: null, at: 0 }),
      sampleEntry(10, { subject: '', jobSeq: 77 }),
    ]
    const expected = chained(records)
    for (const [from, to] of [
      [0, 3],
      [3, 4],
      [4, 10],
    ] as const) {
      await apply(batchOf({ journal: records.slice(from, to) }))
      expect((await tables().load()).lastEntry).toBe(to)
      await reopen()
    }
    const entries = await tables().read.journal(0, 100)
    expect(entries).toEqual(expected)
    expect(brokenSeq(entries)).toBeNull()
  })

  it('STORE-1: text comes back character by character', async () => {
    const newJobs = ODD_TEXTS.map((text, i) =>
      newJob(sampleJob(i + 1, { tier: text, model: text, regions: [text] })),
    )
    const journal = ODD_TEXTS.map((text, i) =>
      sampleEntry(i + 1, { actor: text, action: text, subject: text, details: { [text]: text } }),
    )
    const meta = Object.fromEntries(ODD_TEXTS.map((text) => [text, text]))
    await apply(batchOf({ newJobs, journal, meta }))
    await reopen()
    const rows = newJobs.map(({ row }) => row)
    expect(await Promise.all(rows.map(({ id }) => tables().read.job(id)))).toEqual(rows)
    expect(await tables().read.journal(0, 100)).toEqual(chained(journal))
    expect((await tables().load()).meta).toEqual(meta)
  })
}
