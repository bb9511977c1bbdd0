import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Finding, fail, ok, warn } from './check.ts'

const GIB = 1024 ** 3
/** A clock that shows an earlier day than that on which this was written was never set. */
const WRITTEN = Date.UTC(2026, 10, 1)

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isFit = major > 20 || (major === 20 && minor >= 19)
  return isFit
    ? ok('node', `Node ${version}.`)
    : fail('node', `Node ${version} is too old.`, 'Install Node 20.19 or newer.')
}

/** The clock by itself, and against the last time that the store has seen. */
export function checkClock(nowMs: number, storeBeatMs: number | null): Finding {
  const shown = new Date(nowMs).toISOString()
  if (nowMs < WRITTEN) {
    return fail('clock', `The clock shows ${shown}.`, 'Set the clock, by NTP if you can.')
  }
  const aheadSecs = storeBeatMs === null ? 0 : Math.round((storeBeatMs - nowMs) / 1_000)
  if (aheadSecs > 60) {
    return fail(
      'clock',
      `The clock shows ${shown}, ${aheadSecs} s before the last write of the store.`,
      'Set the clock right; until then the store refuses to open. If it is right now: fairlead doctor --fix-clock',
    )
  }
  return ok('clock', `The clock shows ${shown}.`)
}

/** May this user write there, and is there room? */
export function checkFolder(file: string): Finding {
  const folder = dirname(file)
  if (!existsSync(folder)) {
    return fail('folder', `${folder} is not there.`, `Make it: mkdir -p ${folder}`)
  }
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    const advice = `Let this user write there: chown or chmod ${folder}, or set store.path.`
    return fail('folder', `${folder} cannot be written by this user.`, advice)
  }
  const { bavail, bsize } = statfsSync(folder)
  const free = (bavail * bsize) / GIB
  const text = `${folder} can be written; ${free.toFixed(1)} GiB are free.`
  return free >= 1
    ? ok('folder', text)
    : warn('folder', text, 'Free some space, or move the store.')
}

/** Files that hold other people's work or keys are nobody else's to read. */
export function checkPermissions(files: readonly string[]): Finding {
  const open = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o007) !== 0)
  if (process.platform === 'win32' || open.length === 0) {
    return ok('permissions', 'Nobody but owner and group can read the files.')
  }
  return warn(
    'permissions',
    `Every user of this machine can read ${open.join(', ')}.`,
    `chmod o-rwx ${open.join(' ')}`,
  )
}
