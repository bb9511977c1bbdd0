import { FairleadError } from '@fairlead/core'
import { unavailable } from '../unavailable.ts'

interface Cause {
  readonly reason: string
  readonly advice: string
}

const POOLER: Cause = {
  reason: 'pooler',
  advice:
    'a pooler stands between that gives each transaction another connection; connect to PostgreSQL itself, or set its pool_mode to session',
}
const AWAY: Cause = {
  reason: 'unreachable',
  advice: 'the server cannot be reached; check that it runs, and host and port of the URL',
}
const CUT: Cause = {
  reason: 'unreachable',
  advice: 'the server ended the connection; the store goes on by itself once the server is back',
}
const CREDENTIALS: Cause = {
  reason: 'permission',
  advice:
    'the server refuses this user or its password; correct the URL, or pg_hba.conf of the server',
}
const BUSY: Cause = {
  reason: 'busy',
  advice: 'another program holds locks on the tables; end its transaction and try again',
}
const DAMAGED: Cause = {
  reason: 'damaged',
  advice: 'PostgreSQL reports damaged data; see its log, and go back to the last backup',
}

/** The meaning of SQLSTATE codes, of errors of the system and of TLS, for the person who runs the store (PG-4). */
const CAUSES: Readonly<Record<string, Cause>> = {
  ECONNREFUSED: AWAY,
  ENOTFOUND: AWAY,
  EAI_AGAIN: AWAY,
  EHOSTUNREACH: AWAY,
  ENETUNREACH: AWAY,
  ETIMEDOUT: AWAY,
  ENOENT: AWAY,
  ECONNRESET: CUT,
  EPIPE: CUT,
  '57P01': CUT,
  '57P02': CUT,
  '57P03': {
    reason: 'unreachable',
    advice: 'the server is starting or stopping; the store goes on by itself',
  },
  '25P03': {
    reason: 'unreachable',
    advice: 'this process stood still for too long in a transaction; it is tried again',
  },
  '28000': CREDENTIALS,
  '28P01': CREDENTIALS,
  '3D000': {
    reason: 'cannot_open',
    advice: 'there is no such database; make it with createdb, or correct the URL',
  },
  '42501': {
    reason: 'permission',
    advice:
      'this user may not use the tables; let it own the schema, or let it create one in the database',
  },
  '25006': {
    reason: 'readonly',
    advice: 'the server only answers reads: it is a standby; give the URL of the primary',
  },
  '42P01': {
    reason: 'tables_missing',
    advice: 'its tables are missing; restore the schema from a backup',
  },
  '3F000': { reason: 'tables_missing', advice: 'its schema is missing; restore it from a backup' },
  '53100': {
    reason: 'full',
    advice: 'the disk of the server is full; free some space, then the store goes on by itself',
  },
  '53300': {
    reason: 'busy',
    advice: 'the server has no connection left; raise its max_connections, or end other programs',
  },
  '57014': {
    reason: 'busy',
    advice: 'a statement took too long and was ended; look at the load of the server',
  },
  '55P03': BUSY,
  '40P01': BUSY,
  '26000': POOLER,
  '42P05': POOLER,
  '08P01': POOLER,
  XX001: DAMAGED,
  XX002: DAMAGED,
}

const CONSTRAINT: Cause = {
  reason: 'constraint',
  advice: 'the batch breaks an invariant of the store; nothing of it was applied, please report it',
}

/** Any error as `StoreUnavailable`; one that is so already stays as it is. */
export function asPostgresError(shown: string, error: unknown): FairleadError {
  if (error instanceof FairleadError && error.code === 'StoreUnavailable') return error
  const known = causeOf(error)
  if (known !== undefined) return unavailable(shown, known.reason, known.advice, { cause: error })
  const what = error instanceof Error ? error.message : 'unknown error'
  return unavailable(shown, 'failed', `it failed (${what})`, { cause: error })
}

/** The SQLSTATE of an answer, or the code of a system error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function causeOf(error: unknown): Cause | undefined {
  if (error instanceof FairleadError && error.code !== 'Internal') return CONSTRAINT
  const code = codeOf(error)
  // Integrity, and values that no column takes.
  if (/^2[23]...$/.test(code)) return CONSTRAINT
  const known = CAUSES[code]
  if (known !== undefined) return known
  const text = error instanceof Error ? error.message : ''
  // The client has no codes for these.
  if (/timeout/i.test(text)) return AWAY
  return /connection (terminated|error)|not queryable|Connection ended/i.test(text)
    ? CUT
    : undefined
}
