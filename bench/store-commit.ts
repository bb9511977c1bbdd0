import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type JobRow,
  type LeaseId,
  type LeaseRow,
  type ProviderId,
  taggedHashHex,
} from '@fairlead/core'
import type { JournalRecord, WriteBatch } from '@fairlead/core/internal'
import { openSqliteStore } from '@fairlead/store/sqlite'
import type { Report } from './bench.ts'
import { callerNumber, jobIdNumber } from './fixtures.ts'

export const name = 'store-commit'
export const question =
  'How many rows a second does a SQLite store commit, 1,000 jobs, 1,000 leases and 3,000 entries at a time?'

const JOBS = 1_000
const ROWS = 5 * JOBS
const COMMITS = 25
const RUNS = 4
const START = 1_760_000_000_000
const PROVIDER = 'provider:atlas' as ProviderId

export async function run(report: Report): Promise<void> {
  for (const durability of ['full', 'relaxed'] as const) {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
    try {
      const store = await openSqliteStore(join(folder, 'state.db'), { durability })
      // One store grows through all runs: a figure for an empty file would say little.
      for (let n = 1; n <= RUNS; n++) {
        let seconds = 0
        for (let k = (n - 1) * COMMITS; k < n * COMMITS; k++) {
          const batch = batchNumber(k)
          const started = performance.now()
          await store.commit(batch)
          seconds += (performance.now() - started) / 1_000
        }
        const jobs = (n * COMMITS * JOBS).toLocaleString('en')
        report.measured({
          case: `durability ${durability}, up to ${jobs} jobs`,
          subject: 'fairlead',
          unit: 'rows/s',
          values: [(ROWS * COMMITS) / seconds],
        })
      }
      await store.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** New jobs, each assigned at once, with three entries. */
function batchNumber(k: number): WriteBatch {
  const numbers = Array.from({ length: JOBS }, (_, i) => k * JOBS + i + 1)
  const journal: JournalRecord[] = []
  for (const n of numbers) {
    for (const action of ['jobEnqueued', 'jobAssigned', 'jobStarted']) {
      const seq = k * 3 * JOBS + journal.length + 1
      const jobId = jobIdNumber(n)
      const details = { jobId, leaseId: leaseIdNumber(n), providerId: PROVIDER, attempt: 0 }
      const at = START + n
      journal.push({ seq, at, actor: 'engine', action, subject: jobId, details, jobSeq: n })
    }
  }
  return {
    newJobs: numbers.map((n) => ({ row: jobNumber(n), payload: new Uint8Array(200).fill(n) })),
    jobs: [],
    newLeases: numbers.map(leaseNumber),
    leases: [],
    providers: [],
    results: [],
    failures: [],
    shares: [],
    lanes: [],
    rounds: [],
    journal,
    meta: { beat: String(START + k) },
    eraseEnded: null,
    pruneEndedBefore: null,
    pruneResultsBefore: null,
    cutJournalAt: null,
  }
}

function leaseIdNumber(n: number): LeaseId {
  return taggedHashHex('lease', n) as LeaseId
}

function jobNumber(n: number): JobRow {
  return {
    id: jobIdNumber(n),
    seq: n,
    kind: 'ai',
    caller: callerNumber(n % 50),
    tier: 'FREE',
    fee: 1_000n,
    sizeBytes: 200,
    model: 'llama3-8b',
    shots: 0,
    depthHint: 0,
    units: 3,
    tokens: 300,
    regions: null,
    needs: null,
    ttlAbsSecs: null,
    enqueueTs: START + n,
    chainId: 1n,
    enqueueHeight: BigInt(Math.floor((START + n) / 1_000)),
    txHash: taggedHashHex('tx', n),
    origin: null,
    status: 'ASSIGNED',
    providerId: PROVIDER,
    attempt: 0,
    retries: 0,
    declines: 0,
    workerLosses: 0,
    notBefore: null,
    firstAssignedAt: START + n,
    endedAt: null,
    reason: null,
    proofAwaitedSince: null,
    denials: [],
  }
}

function leaseNumber(n: number): LeaseRow {
  return {
    id: leaseIdNumber(n),
    jobId: jobIdNumber(n),
    jobSeq: n,
    providerId: PROVIDER,
    attempt: 0,
    status: 'ACTIVE',
    tStart: START + n,
    tDeadline: START + n + 600_000,
    renewals: 0,
    isAcked: false,
    epoch: 1,
    round: 1,
    digest: null,
    lengthMs: 600_000,
    ackTimeoutMs: 5_000,
    renewAlpha: 500,
    renewBeta: 500,
    renewalsMax: 10,
    workerId: null,
  }
}
