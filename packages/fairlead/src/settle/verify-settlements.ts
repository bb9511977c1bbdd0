import {
  BatchChain,
  type BatchFault,
  type ListedBatch,
  PAYOUTS_FORMAT,
  type PayoutProof,
  payoutProofOf,
  type Settlement,
} from '@fairlead/core'
import { showBatch, showU64 } from '@fairlead/core/internal'
import type { Verified } from '../audit.ts'
import { readSettlementFile } from './read-settlement-file.ts'
import { verifyAnchors } from './verify-anchors.ts'

/** The outcome of `settle verify`, as `--json` prints it. */
export interface SettlementReport {
  readonly ok: boolean
  /** The files that hold, in the order given. */
  readonly files: readonly FileReport[]
  /** The export of the audit log; null if none was given, or if a file was wrong before. */
  readonly audit: Verified | null
  /** The first thing that is wrong. */
  readonly problem: (BatchFault & { readonly file: string }) | null
}

export interface FileReport {
  readonly file: string
  readonly format: Settlement['format']
  readonly epoch_id: number
  readonly batch_id: string
  readonly totals: unknown
  /** Null for a file that has no whole batch. */
  readonly recomputed: Recomputed | null
  /** The payouts whose way to the root was followed: those of --provider, or of the provider in the file. */
  readonly provider: ProviderReport | null
}

/** `yes`, or why the close could not be computed again. */
export type Recomputed = 'yes' | 'no_policy' | 'earlier_batches_missing'

export interface ProviderReport {
  readonly provider_id: string
  readonly payouts: number
  readonly amount: number | string
  readonly share: number | string
  readonly slashed: number | string
  /** Taken from its stake, and stake that it got back. */
  readonly debit: number | string
  readonly unstaked: number | string
}

interface Asked {
  readonly files: readonly string[]
  readonly providerId: string | null
  readonly auditFile: string | null
  readonly onProgress: (line: string) => void
}

/** Verifies files of batches and payouts in their order, and the audit log behind them. It stops at the first fault. */
export async function verifySettlements(asked: Asked): Promise<SettlementReport> {
  const { files, providerId, auditFile, onProgress } = asked
  const chain = new BatchChain()
  const reports: FileReport[] = []
  const listed: (ListedBatch & { readonly file: string })[] = []
  for (const [i, file] of files.entries()) {
    onProgress(`file ${i + 1} of ${files.length}`)
    const settlement = readSettlementFile(file)
    const { fault, report } = checkFile(chain, settlement, providerId)
    if (fault !== null)
      return { ok: false, files: reports, audit: null, problem: { file, ...fault } }
    reports.push({ file, ...report })
    const { batchId, batch } = settlement
    listed.push({ file, batchId, batch })
  }
  if (auditFile === null) return { ok: true, files: reports, audit: null, problem: null }
  onProgress('the audit log')
  const { audit, problem } = await verifyAnchors(auditFile, listed)
  if (problem === null) return { ok: true, files: reports, audit, problem }
  const file = listed.find(({ batchId }) => batchId === problem.batchId)?.file ?? auditFile
  return { ok: false, files: reports, audit, problem: { file, ...problem.fault } }
}

type Checked =
  | { readonly fault: BatchFault; readonly report: null }
  | { readonly fault: null; readonly report: Omit<FileReport, 'file'> }

function checkFile(chain: BatchChain, settlement: Settlement, providerId: string | null): Checked {
  const { format, batchId, batch } = settlement
  const { totals } = showBatch(batch)
  const common = { format, epoch_id: batch.epochId, batch_id: batchId, totals }
  if (settlement.format === PAYOUTS_FORMAT) {
    const wanted = providerId ?? settlement.providerId
    const fault = otherProvider(settlement, wanted) ?? chain.checkPayouts(settlement)
    if (fault !== null) return { fault, report: null }
    const provider = providerReport(settlement)
    return { fault, report: { ...common, recomputed: null, provider } }
  }
  const { fault, isRecomputed } = chain.checkBatch(settlement)
  if (fault !== null) return { fault, report: null }
  const missing = settlement.policy === null ? 'no_policy' : 'earlier_batches_missing'
  const recomputed = isRecomputed ? 'yes' : missing
  if (providerId === null) return { fault, report: { ...common, recomputed, provider: null } }
  const proof = payoutProofOf(settlement, providerId)
  const wrong = chain.checkPayouts(proof)
  if (wrong !== null) return { fault: wrong, report: null }
  return { fault, report: { ...common, recomputed, provider: providerReport(proof) } }
}

function otherProvider({ providerId }: PayoutProof, wanted: string): BatchFault | null {
  if (providerId === wanted) return null
  return { field: 'provider_id', expected: wanted, found: providerId }
}

function providerReport({ providerId, batch, payouts }: PayoutProof): ProviderReport {
  const sum = (of: 'amount' | 'provider' | 'slashed') =>
    showU64(payouts.reduce((all, { line }) => all + BigInt(line[of]), 0n))
  const { debits, unstaked } = batch.totals
  return {
    provider_id: providerId,
    payouts: payouts.length,
    amount: sum('amount'),
    share: sum('provider'),
    slashed: sum('slashed'),
    debit: showU64(debits[providerId] ?? 0n),
    unstaked: showU64(unstaked[providerId] ?? 0n),
  }
}
