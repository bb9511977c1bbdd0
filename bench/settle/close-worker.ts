import { parentPort } from 'node:worker_threads'
import type { ClaimLine } from '@fairlead/core'
import { buffersOf, type CloseInput, closeEpoch, packClose } from '@fairlead/core/internal'

/** The input of a close in slices, or as a whole. */
export type ToWorker =
  | { readonly type: 'lines'; readonly lines: readonly ClaimLine[] }
  | { readonly type: 'close'; readonly input: CloseInput; readonly isWhole: boolean }

const port = parentPort
if (port === null) throw new Error('this file runs as a worker')

let lines: ClaimLine[] = []

port.on('message', (message: ToWorker) => {
  if (message.type === 'lines') {
    for (const line of message.lines) lines.push(line)
    return
  }
  if (message.isWhole) {
    port.postMessage(closeEpoch(message.input))
    return
  }
  const input = { ...message.input, lines }
  lines = []
  const packed = packClose(input, closeEpoch(input))
  port.postMessage(packed, buffersOf(packed))
})
