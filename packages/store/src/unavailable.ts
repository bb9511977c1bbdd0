import { FairleadError } from '@fairlead/core'
import { sqliteCode } from './sqlite/driver.ts'

const CONSTRAINT = 19

/** Errors of the operating system as result codes of SQLite. */
const CODES: Readonly<Record<string, number>> = {
  ENOSPC: 13,
  EDQUOT: 13,
  EIO: 10,
  EACCES: 3,
  EPERM: 3,
  EROFS: 8,
  ENOENT: 14,
  ENOTDIR: 14,
  EISDIR: 14,
}

/** The meaning of SQLite's result codes, primary or extended, for the person who runs the store (STORE-12). */
const CAUSES: Readonly<Record<number, { readonly reason: string; readonly advice: string }>> = {
  3: {
    reason: 'permission',
    advice: 'access is refused; let this user read and write the file and its folder',
  },
  5: {
    reason: 'busy',
    advice: 'another program reads or writes it; end the transaction of that program and try again',
  },
  8: {
    reason: 'readonly',
    advice: 'it cannot be written; let this user write the file and its folder',
  },
  10: {
    reason: 'io',
    advice: 'the disk reports an error; check the disk, and the system log for its cause',
  },
  11: {
    reason: 'damaged',
    advice: 'the file is damaged; keep a copy of it and go back to the last backup',
  },
  13: {
    reason: 'full',
    advice: 'the disk is full; free some space, then the store goes on by itself',
  },
  14: {
    reason: 'cannot_open',
    advice:
      'it cannot be opened; check that its folder exists, that this user may write there, and that it is a file',
  },
  [CONSTRAINT]: {
    reason: 'constraint',
    advice:
      'the batch breaks an invariant of the store; nothing of it was applied, please report it',
  },
  3850: {
    reason: 'readonly',
    advice:
      'it cannot be locked; let this user write the file and its folder, on a disk that has file locks',
  },
  26: {
    reason: 'not_a_database',
    advice:
      'the file is not a database; give the path of a store, or of a file that is not there yet',
  },
}

/** `StoreUnavailable` with the path, the reason and what to do; the cause is kept. */
export function unavailable(
  path: string,
  reason: string,
  advice: string,
  options?: ErrorOptions & { readonly details?: Readonly<Record<string, unknown>> },
): FairleadError {
  const details = { path, reason, ...options?.details }
  return new FairleadError('StoreUnavailable', `store ${path}: ${advice}`, details, options)
}

/** Any error as `StoreUnavailable`; one that is so already stays as it is. */
export function asUnavailable(path: string, error: unknown): FairleadError {
  if (error instanceof FairleadError && error.code === 'StoreUnavailable') return error
  const isRefused = error instanceof FairleadError && error.code !== 'Internal'
  const code = isRefused ? CONSTRAINT : (sqliteCode(error) ?? systemCode(error) ?? 0)
  const known = CAUSES[code] ?? CAUSES[code & 0xff]
  if (known !== undefined) return unavailable(path, known.reason, known.advice, { cause: error })
  const what = error instanceof Error ? error.message : 'unknown error'
  return unavailable(path, 'failed', `it failed (${what})`, { cause: error })
}

function systemCode(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error ? CODES[String(error.code)] : undefined
}
