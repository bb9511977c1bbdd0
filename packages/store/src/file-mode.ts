import { closeSync, existsSync, openSync, statSync } from 'node:fs'

/** Every file of a store contains people's work: only its owner may read it (FILES-1). */
export const OWNER_ONLY = 0o600

/**
 * Makes an empty file that only its owner may read, whatever the umask is (FILES-1). SQLite gives the files beside it the same
 * mode. A file that exists is not touched: to close it here would give up the locks on it.
 */
export function makePrivate(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'a', OWNER_ONLY))
  } catch {
    // SQLite cannot make it either, and says why.
  }
}

/** True if there is no file, or one without content. */
export function isEmptyFile(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}
