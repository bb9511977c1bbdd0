import type { ResultOf } from '@fairlead/client'
import { line } from '../../data/line.ts'

type File = ResultOf<'aicf.getSettlement'>['settlement']

const LINES = 5_000

/** The file of a batch, as `fairlead settle verify` reads it: the first page with the lines of all. */
async function settlementFile(epoch_id: number): Promise<File> {
  let { settlement, cursor } = await line.call('aicf.getSettlement', { epoch_id, limit: LINES })
  const file = { ...settlement, claims: [...settlement.claims], payouts: [...settlement.payouts] }
  while (cursor !== null) {
    ;({ settlement, cursor } = await line.call('aicf.getSettlement', {
      epoch_id,
      limit: LINES,
      cursor,
    }))
    file.claims.push(...settlement.claims)
    file.payouts.push(...settlement.payouts)
  }
  return file
}

export async function downloadSettlement(epoch_id: number): Promise<void> {
  const file = await settlementFile(epoch_id)
  save(`settlement-${epoch_id}.json`, `${JSON.stringify(file, null, 2)}\n`)
}

/** Hands a text to the browser as a file. */
function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
