import { type ListedBatch, unanchoredBatch } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'

const EPOCHS = 100
const ENTRIES = 1_000

/**
 * The oldest settled epoch that the audit log does not bear out, as the id of its batch (SETTLE-16); null if it bears out
 * all. Epochs whose anchor was deleted from the log are not looked at.
 */
export async function brokenBatchIn(engine: Engine): Promise<string | null> {
  const { seq: first } = engine.view.journalCut
  let broken: string | null = null
  for (let beforeEpoch = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await engine.fund.settledEpochs({ beforeEpoch, limit: EPOCHS })
    for (const settled of page) {
      if (settled.batch.auditSeq < first) return broken
      if (!(await isBorneOut(engine, settled))) broken = settled.batchId
    }
    const last = page.at(-1)
    if (last === undefined || page.length < EPOCHS) return broken
    beforeEpoch = last.epochId
  }
}

/** The entry of the close comes soon after the one that its batch names. */
async function isBorneOut(engine: Engine, settled: ListedBatch): Promise<boolean> {
  const { journalCut, read } = engine.view
  const { auditSeq: seq } = settled.batch
  const [entry] = seq === journalCut.seq ? [journalCut] : await read.journal(seq - 1, 1)
  if (entry === undefined || entry.seq !== seq) return false
  const head = { seq, hash: entry.hash }
  for (let after = seq; ; ) {
    const entries = await read.journal(after, ENTRIES)
    if (unanchoredBatch(entries, [settled], { ...head, seq }) === null) return true
    const last = entries.at(-1)
    if (last === undefined || entries.length < ENTRIES) return false
    after = last.seq
  }
}
