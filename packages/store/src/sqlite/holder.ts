import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { OWNER_ONLY } from '../file-mode.ts'

/**
 * Who has a store open, in a text file beside it. Only a name plate: the lock itself is SQLite's, held
 * on the file by the operating system, and dies with its process. A plate that a killed process left
 * behind says nothing, and the next holder writes over it.
 */
interface Holder {
  readonly pid: number
  readonly host: string
  readonly since: string
}

export function writeHolder(path: string): void {
  const holder: Holder = { pid: process.pid, host: hostname(), since: new Date().toISOString() }
  try {
    writeFileSync(plateOf(path), `${JSON.stringify(holder)}\n`, { mode: OWNER_ONLY })
  } catch {
    // A store on a full disk can still be read, and is locked all the same.
  }
}

export function removeHolder(path: string): void {
  try {
    rmSync(plateOf(path), { force: true })
  } catch {
    // The folder cannot be written by now; a plate that is left says nothing without the lock.
  }
}

/** The holder, or null if nobody can say: it may not have written its name yet. */
export function readHolder(path: string): Holder | null {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(plateOf(path), 'utf8'))
    const isWhole =
      Number.isSafeInteger(pid) && typeof host === 'string' && typeof since === 'string'
    return isWhole ? { pid, host, since } : null
  } catch {
    return null
  }
}

function plateOf(path: string): string {
  return `${path}.holder`
}
