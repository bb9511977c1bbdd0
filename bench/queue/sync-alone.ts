import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Figures, LATENCY_EVERY_MS, percentiles } from './scenarios.ts'

/** As much as a job that comes alone adds to Fairlead's log until its handler begins. */
const BYTES = 2_048

/** What the disk alone takes of each job in `latency`: some bytes are written over others and synced, as often as jobs come. */
export async function syncAlone(seconds: number): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  const file = openSync(join(folder, 'log'), 'w+')
  try {
    const took = new Float64Array(Math.ceil((1_000 * seconds) / LATENCY_EVERY_MS))
    writeSync(file, Buffer.alloc(BYTES * took.length))
    fdatasyncSync(file)
    const bytes = Buffer.alloc(BYTES, 1)
    for (let n = 0; n < took.length; n++) {
      await pause(LATENCY_EVERY_MS)
      const began = performance.now()
      writeSync(file, bytes, 0, BYTES, n * BYTES)
      fdatasyncSync(file)
      took[n] = performance.now() - began
    }
    return percentiles(took)
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true })
  }
}
