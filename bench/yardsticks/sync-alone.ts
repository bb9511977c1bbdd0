import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** As much as a job that comes alone adds to Fairlead's log until its handler begins. */
const BYTES = 2_048

/** Of each write, in ms. */
export interface SyncAlone {
  /** To write over some bytes and sync them. */
  readonly tookMs: Float64Array
  /** From the time it was due to its end: the timer was late too. */
  readonly lateMs: Float64Array
}

/** The disk alone: some bytes are written over others and synced, again and again at a fixed pace. */
export async function syncAlone(options: {
  readonly times: number
  readonly everyMs: number
}): Promise<SyncAlone> {
  const { times, everyMs } = options
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  const file = openSync(join(folder, 'log'), 'w+')
  try {
    const [tookMs, lateMs] = [new Float64Array(times), new Float64Array(times)]
    writeSync(file, Buffer.alloc(BYTES * times))
    fdatasyncSync(file)
    const bytes = Buffer.alloc(BYTES, 1)
    for (let n = 0; n < times; n++) {
      const due = performance.now() + everyMs
      await pause(everyMs)
      const began = performance.now()
      writeSync(file, bytes, 0, BYTES, n * BYTES)
      fdatasyncSync(file)
      tookMs[n] = performance.now() - began
      lateMs[n] = performance.now() - due
    }
    return { tookMs, lateMs }
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true })
  }
}
