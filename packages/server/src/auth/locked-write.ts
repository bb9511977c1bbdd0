import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { FairleadError } from '@fairlead/core'

/** A lock older than this was left behind by a process that was killed. */
const LOCK_STALE_MS = 10_000
const TRIES_MAX = 200

/**
 * Replaces a file as a whole, one process at a time. Readers see the old text or the new one, never a
 * part; only the owner may read it.
 */
export function lockedWrite(path: string, text: () => string): void {
  const lock = `${path}.lock`
  takeLock(lock)
  try {
    const draft = `${path}.${process.pid}.tmp`
    // One that a killed process left, or that somebody put there, is not written to: others may have it open.
    rmSync(draft, { force: true })
    const file = openForOwner(draft)
    try {
      writeSync(file, text())
      fsyncSync(file)
    } catch (error) {
      rmSync(draft, { force: true })
      throw error
    } finally {
      closeSync(file)
    }
    renameSync(draft, path)
  } finally {
    rmSync(lock, { force: true })
  }
}

/** A new file that its owner reads and writes, and nobody else, whatever the umask (AUTH-3). */
function openForOwner(path: string): number {
  const file = openSync(path, 'wx', OWNER_ONLY)
  fchmodSync(file, OWNER_ONLY)
  return file
}

const OWNER_ONLY = 0o600

function takeLock(lock: string): void {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      closeSync(openForOwner(lock))
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const stat = statSync(lock, { throwIfNoEntry: false })
    if (stat !== undefined && Date.now() - stat.mtimeMs > LOCK_STALE_MS)
      rmSync(lock, { force: true })
    else Atomics.wait(PAUSE, 0, 0, 10)
  }
  throw new FairleadError('StoreUnavailable', `${lock} is held by another process; try again`)
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4))
