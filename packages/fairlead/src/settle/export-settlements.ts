import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeClient } from '@fairlead/client'
import { exportLog } from '../audit.ts'
import { misuse } from '../flags/flags.ts'
import { fetchBatch, fetchPayouts, type Listed, listedSettlements } from './fetch-settlements.ts'

export interface Exported {
  /** In the order of their epochs, as `settle verify` takes them. */
  readonly files: readonly string[]
  readonly audit_file: string | null
}

interface Asked {
  /** All if there are none. */
  readonly epochs: readonly number[]
  readonly folder: string
  readonly providerId: string | null
  readonly hasAudit: boolean
  readonly onProgress: (line: string) => void
}

/** Writes settled epochs, and the audit log behind them. No file that is there already is overwritten. */
export async function exportSettlements(client: NodeClient, asked: Asked): Promise<Exported> {
  const { folder, providerId, hasAudit, onProgress } = asked
  mkdirSync(folder, { recursive: true })
  const wanted = await wantedBatches(client, asked.epochs)
  const files: string[] = []
  for (const { batch } of wanted) {
    const { epoch_id: epoch } = batch
    onProgress(`epoch ${epoch}`)
    const [name, content] =
      providerId === null
        ? [`batch-${epoch}.json`, await fetchBatch(client, epoch)]
        : [
            `payouts-${providerId.replace('provider:', '')}-${epoch}.json`,
            await fetchPayouts(client, providerId, epoch),
          ]
    const file = join(folder, name)
    write(file, `${JSON.stringify(content, null, 1)}\n`)
    files.push(file)
  }
  if (!hasAudit || wanted.length === 0) return { files, audit_file: null }
  const auditFile = join(folder, 'audit.jsonl')
  // The log has to begin at the anchor of the first batch.
  const anchor = Math.min(...wanted.map(({ batch }) => batch.audit_seq))
  await exportLog(client, {
    afterSeq: Math.max(0, anchor - 1),
    file: auditFile,
    onProgress: (done) => onProgress(`${done} entries of the audit log`),
  })
  return { files, audit_file: auditFile }
}

/** The batches of these epochs, or all of them, the oldest first. */
async function wantedBatches(client: NodeClient, epochs: readonly number[]): Promise<Listed[]> {
  const all = await listedSettlements(client, Number.MAX_SAFE_INTEGER)
  const listed = all.toReversed()
  if (epochs.length === 0) return listed
  const missing = epochs.find((epoch) => !listed.some(({ batch }) => batch.epoch_id === epoch))
  if (missing !== undefined)
    throw misuse(
      `there is no batch of epoch ${missing}; fairlead settle list shows those that there are`,
    )
  return listed.filter(({ batch }) => epochs.includes(batch.epoch_id))
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw misuse(`${file} is there already; name another --out`)
    throw misuse(`cannot write ${file}: ${message}`)
  }
}
