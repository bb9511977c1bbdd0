import {
  type AuditEntry,
  type Caller,
  type CborMap,
  decodeCbor,
  EMPTY_AUDIT,
  encodeCbor,
  type FailureRow,
  type JobId,
  type JobRow,
  type LeaseId,
  type LeaseRow,
  type ProviderId,
  type ResultRow,
  taggedHashHex,
} from '@fairlead/core'
import {
  appendAudit,
  type JournalRecord,
  NEW_STANDING,
  NO_ROWS,
  type ProviderRow,
  type RoundRow,
  type SettlementRow,
  type WriteBatch,
} from '@fairlead/core/internal'
import { copyOf } from '../copy-of.ts'

/** Rows with nothing special about them but what is given. */

/** Where the time of all samples begins. */
export const START = 1_760_000_000_000

export function named<Id extends string>(what: string, n: number): Id {
  return taggedHashHex(what, n) as Id
}

export const jobIdOf = (n: number) => named<JobId>('job', n)
export const leaseIdOf = (n: number) => named<LeaseId>('lease', n)
export const callerOf = (n: number) => named<Caller>('caller', n)
export const providerOf = (n: number) => `provider:p${n}` as ProviderId
export const hashOf = (n: number) => taggedHashHex('hash', n)

/** The n-th job accepted. */
export function sampleJob(n: number, given: Partial<JobRow> = {}): JobRow {
  return {
    id: jobIdOf(n),
    seq: n,
    kind: 'ai',
    caller: callerOf(1),
    tier: 'FREE',
    fee: 0n,
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
    enqueueHeight: 1_760_000_000n,
    txHash: named('tx', n),
    origin: null,
    options: null,
    status: 'QUEUED',
    providerId: null,
    attempt: null,
    retries: 0,
    declines: 0,
    workerLosses: 0,
    notBefore: null,
    firstAssignedAt: null,
    endedAt: null,
    reason: null,
    proofAwaitedSince: null,
    denials: [],
    releasedAt: null,
    ...given,
  }
}

/** A lease of the n-th job; its id follows from job and attempt. */
export function sampleLease(n: number, given: Partial<LeaseRow> = {}): LeaseRow {
  const attempt = given.attempt ?? 0
  return {
    id: leaseIdOf(1_000 * n + attempt),
    jobId: jobIdOf(n),
    jobSeq: n,
    providerId: providerOf(1),
    attempt,
    status: 'ACTIVE',
    tStart: START + 1_000 * attempt + n,
    tDeadline: START + 600_000 + n,
    timeoutAt: null,
    renewals: 0,
    isAcked: false,
    epoch: 2_933_333,
    round: 1,
    digest: null,
    lengthMs: 600_000,
    ackTimeoutMs: 5_000,
    renewAlpha: 500,
    renewBeta: 500,
    renewalsMax: 10,
    workerId: null,
    ...given,
  }
}

export function sampleProvider(n: number, given: Partial<ProviderRow> = {}): ProviderRow {
  return {
    id: providerOf(n),
    status: 'ACTIVE',
    capabilities: ['ai'],
    models: ['*'],
    platforms: [],
    maxDepth: null,
    maxShots: null,
    maxWidth: null,
    gates: null,
    precision: null,
    region: null,
    allow: null,
    deny: [],
    leasesMax: null,
    stake: 0n,
    standing: NEW_STANDING,
    publicKey: null,
    attestation: null,
    lastHeartbeat: START,
    creditedAt: null,
    silentSteps: 0,
    health: 1_000,
    failures: 0,
    cooldownUntil: null,
    classCooldowns: [],
    units: [],
    workers: null,
    ...given,
  }
}

export function sampleResult(n: number, given: Partial<ResultRow> = {}): ResultRow {
  return {
    jobId: jobIdOf(n),
    jobSeq: n,
    caller: callerOf(1),
    leaseId: leaseIdOf(1_000 * n),
    providerId: providerOf(1),
    digest: hashOf(n),
    units: 3,
    at: START + n,
    output: null,
    contentType: null,
    meta: null,
    claim: null,
    ...given,
  }
}

/** The facts of a claim. */
export const SAMPLE_CLAIM: ResultRow['claim'] = {
  proofType: 'QUANTUM_V1',
  claimKey: named('claim', 1),
  envelopeHash: named('envelope', 1),
  nullifier: named('nullifier', 1),
  blockHeight: 1_760_000_000,
  place: 0,
  txHash: named('tx', 1),
  minerId: 'operator',
  unitsPpm: '18446744073709551615',
  p95LatencyMs: '900',
  availabilityPpm: '999000',
  traps: { shots: '500', passed: '499' },
  finalizedHeight: 1_760_000_000,
}

/** The batch of an epoch, with a part of one provider. */
export function sampleSettlement(
  epochId: number,
  given: Partial<SettlementRow> = {},
): SettlementRow {
  return {
    epochId,
    batchId: named('batch', epochId),
    at: START + epochId,
    batch: '{"totals":{}}',
    policy: '{}',
    due: Uint8Array.of(epochId),
    parts: [{ providerId: providerOf(1), part: 0, body: Uint8Array.of(1, 2) }],
    ...given,
  }
}

/** Why an attempt of the n-th job failed. */
export function sampleFailure(n: number, given: Partial<FailureRow> = {}): FailureRow {
  const attempt = given.attempt ?? 0
  return {
    jobId: jobIdOf(n),
    jobSeq: n,
    attempt,
    at: START + 1_000 * attempt + n,
    code: 'task_failed',
    message: null,
    details: null,
    ...given,
  }
}

export function sampleRound(height: number, given: Partial<RoundRow> = {}): RoundRow {
  return {
    height,
    kind: 'ai',
    at: START + height,
    seed: named('seed', height),
    batchDigest: named('batch', height),
    batchSize: 1,
    order: 'first-fit',
    providers: [providerOf(1)],
    ranks: null,
    assignments: [[jobIdOf(height), providerOf(1), 0]],
    refusals: [[]],
    ...given,
  }
}

/** The entry with this number, about the first job. */
export function sampleEntry(seq: number, given: Partial<JournalRecord> = {}): JournalRecord {
  return {
    seq,
    at: START + seq,
    actor: 'engine',
    action: 'jobEnqueued',
    subject: jobIdOf(1),
    details: { jobId: jobIdOf(1) },
    jobSeq: 1,
    ...given,
  }
}

/** What a store has to make of a journal that was empty before these. */
export function chained(records: readonly JournalRecord[]): AuditEntry[] {
  const entries: AuditEntry[] = []
  for (const record of records) {
    const details = copyOf(decodeCbor(encodeCbor(record.details)) as CborMap)
    entries.push(appendAudit(entries.at(-1) ?? EMPTY_AUDIT, { ...record, details }))
  }
  return entries
}

export function newJob(row: JobRow, payload: Uint8Array = Uint8Array.of(0xa0)) {
  return { row, payload }
}

export function batchOf(given: Partial<WriteBatch>): WriteBatch {
  return { ...NO_ROWS, ...given }
}
