import { toHex } from '@fairlead/core'
import { NO_ROWS, type WriteBatch } from '@fairlead/core/internal'
import type { EngineNote } from '../state/journal.ts'
import { META } from '../state/meta.ts'

/**
 * The rows that begin a new incarnation of a state: from now on its lease ids differ from those of any other state with the same
 * past (BACKUP-5). The audit log says why.
 */
export function newIncarnation({
  lastEntry,
  at,
  incarnation,
  note,
}: {
  /** The number of the last entry of the audit log. */
  readonly lastEntry: number
  readonly at: number
  /** 32 random bytes. */
  readonly incarnation: Uint8Array
  readonly note: Extract<EngineNote, { readonly type: 'storeRestored' | 'replayAccepted' }>
}): WriteBatch {
  const { type: action, at: _at, ...details } = note
  const { subject } = note
  const entry = {
    seq: lastEntry + 1,
    at,
    actor: 'operator',
    action,
    subject,
    details,
    jobSeq: null,
  }
  return {
    ...NO_ROWS,
    journal: [entry],
    meta: { [META.incarnation]: toHex(incarnation) },
  }
}
