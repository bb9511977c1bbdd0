import { parentPort } from 'node:worker_threads'
import type { ClaimLine } from '@fairlead/core'
import {
  buffersOf,
  type CloseInput,
  type Closing,
  closeEpoch,
  type PackedClose,
  packClose,
  type SettlementRow,
  settlementRow,
} from '@fairlead/core/internal'

/** The lines of an input in slices, then the rest of it. */
export type ToCloseThread =
  | { readonly type: 'lines'; readonly lines: readonly ClaimLine[] }
  | { readonly type: 'close'; readonly input: CloseInput & Closing }

export interface FromCloseThread {
  readonly packed: PackedClose
  readonly row: SettlementRow | null
}

const port = parentPort
if (port === null) throw new Error('this file runs as a worker')

let lines: ClaimLine[] = []

port.on('message', (message: ToCloseThread) => {
  if (message.type === 'lines') {
    for (const line of message.lines) lines.push(line)
    return
  }
  const input = { ...message.input, lines }
  lines = []
  const close = closeEpoch(input)
  const row = close.batch === null ? null : settlementRow(close, input)
  const answer: FromCloseThread = { packed: packClose(input, close), row }
  // Without a copy where a value has its buffer for itself.
  const bodies = (row?.parts ?? [])
    .map(({ body }) => body)
    .filter(({ buffer, byteLength }) => buffer.byteLength === byteLength)
    .map(({ buffer }) => buffer as ArrayBuffer)
  port.postMessage(answer, [...buffersOf(answer.packed), ...bodies])
})
