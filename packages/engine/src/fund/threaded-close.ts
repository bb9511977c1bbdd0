import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { computeClose, unpackEffect } from '@fairlead/core/internal'
import type { FromCloseThread, ToCloseThread } from './close-thread.ts'
import type { ComputeClose } from './epoch-closer.ts'

/** Fewer lines are computed at once: a thread takes longer to start. */
const LINES_FOR_A_THREAD = 2_000
/** So many claim lines at a time hold the loop for some 2 ms. */
const SLICE = 2_000

/**
 * Computes large closes in a thread of their own, so that the engine goes on with its work. The thread ends with the
 * close: there is one an epoch.
 */
export const threadedClose: ComputeClose = async (input) => {
  if (input.lines.length + input.due.length < LINES_FOR_A_THREAD) return computeClose(input)
  const worker = new Worker(new URL('../../dist/fund/close-thread.js', import.meta.url), {
    execArgv: [],
  })
  try {
    const send = (message: ToCloseThread): void => worker.postMessage(message)
    const answered = once(worker, 'message') as Promise<[FromCloseThread]>
    for (let at = 0; at < input.lines.length; at += SLICE) {
      send({ type: 'lines', lines: input.lines.slice(at, at + SLICE) })
      await turn()
    }
    send({ type: 'close', input: { ...input, lines: [] } })
    const [{ packed, row }] = await answered
    await turn()
    return { effect: unpackEffect(input, packed), row }
  } finally {
    await worker.terminate()
  }
}
