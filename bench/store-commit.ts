import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type JobRow,
  type LeaseId,
  type LeaseRow,
  type ProviderId,
  type ResultRow,
  taggedHashHex,
} from '@fairlead/core'
import type { JournalRecord, WriteBatch } from '@fairlead/core/internal'
import { openSqliteStore } from '@fairlead/store/sqlite'
import type { Report } from './bench.ts'
import { callerNumber, jobIdNumber } from './fixtures.ts'

export const name = 'store-commit'
export const question =
  'How many finished jobs a second do the SQLite tables take, 250 jobs, leases and results and 1,000 entries at a time?'

const JOBS = 250
const BATCHES = 100
const RUNS = 4
const START = 1_760_000_000_000
const PROVIDER = 'provider:atlas' as ProviderId

export async function run(report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  try {
    const store = await openSqliteStore(join(folder, 'state.db'), { durability: 'relaxed' })
    // One store grows through all runs: a figure for an empty file would say little.
    for (let n = 1; n <= RUNS; n++) {
      let seconds = 0
      for (let k = (n - 1) * BATCHES; k < n * BATCHES; k++) {
        const rows = batchNumber(k)
        await store.log.append({ batch: k + 1, digest: k, body: new Uint8Array() })
        const started = performance.now()
        await store.tables.apply(rows, k + 1)
        seconds += (performance.now() - started) / 1_000
      }
      const jobs = (n * BATCHES * JOBS).toLocaleString('en')
      report.measured({
        case: `up to ${jobs} jobs`,
        subject: 'fairlead',
        unit: 'jobs/s',
        values: [(JOBS * BATCHES) / seconds],
      })
    }
    await store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** New jobs that are over already, with four entries each. */
function batchNumber(k: number): WriteBatch {
  const numbers = Array.from({ length: JOBS }, (_, i) => k * JOBS + i + 1)
  const journal: JournalRecord[] = []
  for (const n of numbers) {
    for (const action of ['jobEnqueued', 'jobAssigned', 'jobStarted', 'jobCompleted']) {
      const seq = k * 4 * JOBS + journal.length + 1
      const jobId = jobIdNumber(n)
      const details = { jobId, leaseId: leaseIdNumber(n), providerId: PROVIDER, attempt: 0 }
      const at = START + n
      journal.push({ seq, at, actor: 'engine', action, subject: jobId, details, jobSeq: n })
    }
  }
  return {
    clearedLanes: [],
    settlements: [],
    newJobs: numbers.map((n) => ({ row: jobNumber(n), payload: new Uint8Array(200).fill(n) })),
    jobs: [],
    newLeases: numbers.map(leaseNumber),
    leases: [],
    providers: [],
    results: numbers.map(resultNumber),
    failures: [],
    shares: [],
    lanes: [],
    rounds: [],
    journal,
    meta: { beat: String(START + k) },
    eraseEnded: null,
    pruneEndedBefore: null,
    pruneResultsBefore: null,
    prunedJobs: [],
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
    status: 'COMPLETED',
    providerId: PROVIDER,
    attempt: 0,
    retries: 0,
    declines: 0,
    workerLosses: 0,
    notBefore: null,
    firstAssignedAt: START + n,
    endedAt: START + n,
    reason: null,
    proofAwaitedSince: null,
    denials: [],
    options: null,
    releasedAt: null,
  }
}

function leaseNumber(n: number): LeaseRow {
  return {
    id: leaseIdNumber(n),
    jobId: jobIdNumber(n),
    jobSeq: n,
    providerId: PROVIDER,
    attempt: 0,
    status: 'COMPLETED',
    tStart: START + n,
    tDeadline: START + n + 600_000,
    renewals: 0,
    isAcked: true,
    epoch: 1,
    round: 1,
    digest: null,
    lengthMs: 600_000,
    ackTimeoutMs: 5_000,
    timeoutAt: null,
    renewAlpha: 500,
    renewBeta: 500,
    renewalsMax: 10,
    workerId: null,
  }
}

function resultNumber(n: number): ResultRow {
  return {
    jobId: jobIdNumber(n),
    jobSeq: n,
    caller: callerNumber(n % 50),
    leaseId: leaseIdNumber(n),
    providerId: PROVIDER,
    digest: taggedHashHex('digest', n),
    units: 3,
    at: START + n,
    output: new Uint8Array(20),
    contentType: null,
    meta: null,
    claim: null,
  }
}
