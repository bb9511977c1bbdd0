import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { BENCH } from './peer.ts'

const LIFE = join(BENCH, 'dist', 'queue', 'life.js')

/**
 * Seconds from the start of a process to its first answer, on the store of one that was killed with so many jobs
 * waiting.
 */
export function restartSeconds(jobs: number): Promise<number> {
  return inFolder(async (file) => {
    await lines(['fill', file, String(jobs)], (line, kill) => {
      if (line === 'filled') kill()
    })
    const started = performance.now()
    let seconds = Number.NaN
    await lines(['open', file], (line, kill) => {
      if (line !== 'answered') return
      seconds = (performance.now() - started) / 1_000
      kill()
    })
    return seconds
  })
}

/** Seconds that a clean stop takes right after so many jobs were enqueued at full speed. */
export function stopSeconds(jobs: number): Promise<number> {
  return inFolder(async (file) => {
    let seconds = Number.NaN
    await lines(['stop', file, String(jobs)], (line) => {
      const [what, value] = line.split(' ')
      if (what === 'stopped') seconds = Number(value)
    })
    return seconds
  })
}

async function inFolder(act: (file: string) => Promise<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  try {
    return await act(join(folder, 'fairlead.db'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs a process to its end, and tells of each line that it prints. */
async function lines(
  args: readonly string[],
  heard: (line: string, kill: () => void) => void,
): Promise<void> {
  const child = spawn(process.execPath, [LIFE, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    heard(line, () => child.kill('SIGKILL'))
  }
  await ended
}
