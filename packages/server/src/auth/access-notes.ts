import type { OutsideNote } from '@fairlead/engine'
import type { Logger } from '../log.ts'
import type { Identity } from './identity.ts'
import { NoteGathering, type NoteKind } from './note-gathering.ts'

type Refusal = Omit<Extract<OutsideNote, { type: 'accessRefused' }>, 'type' | 'attempts'>
type Read = Omit<Extract<OutsideNote, { type: 'dataRead' }>, 'type' | 'reads'>

/** Stands for those that are not told one by one. */
const OTHERS = 'others'
const SEVERAL = 'several'

/**
 * Who was refused (AUTH-5), and who read what belongs to somebody else (AUDIT-12), on the way to the audit log. Each of
 * the two is bounded by itself: a flood of one hides nothing of the other.
 */
export class AccessNotes {
  readonly #logger: Logger
  readonly #refusals: NoteGathering
  readonly #reads: NoteGathering

  constructor(write: (note: OutsideNote) => Promise<void>, logger: Logger) {
    this.#logger = logger
    const rest = { by: OTHERS, subject: SEVERAL }
    this.#refusals = new NoteGathering(write, logger, refusalKind({ ...rest, reason: SEVERAL }))
    this.#reads = new NoteGathering(write, logger, readKind({ ...rest, caller: SEVERAL }))
  }

  /** A token that is none, or none at all. */
  unauthorized(from: string, reason: string): void {
    this.#refuse({ by: from, subject: 'authentication', reason })
  }

  /** A token that may not do this, or not with what belongs to somebody else. */
  forbidden({ tokenId }: Identity, subject: string): void {
    this.#refuse({ by: `token:${tokenId}`, subject, reason: 'forbidden' })
  }

  /** A token was shown what belongs to another caller; `several` where it was a list. */
  read({ tokenId }: Identity, subject: string, caller: string | null): void {
    this.#reads.add(readKind({ by: `token:${tokenId}`, subject, caller: caller ?? SEVERAL }))
  }

  /** Writes what was gathered. */
  async close(): Promise<void> {
    await this.#refusals.close()
    await this.#reads.close()
  }

  #refuse(refusal: Refusal): void {
    if (this.#refusals.add(refusalKind(refusal))) this.#logger.warn(refusal, 'access refused')
  }
}

function refusalKind(refusal: Refusal): NoteKind {
  const { by, subject, reason } = refusal
  return {
    key: JSON.stringify([by, subject, reason]),
    note: (attempts) => ({ type: 'accessRefused', ...refusal, attempts }),
  }
}

function readKind(read: Read): NoteKind {
  const { by, subject, caller } = read
  return {
    key: JSON.stringify([by, subject, caller]),
    note: (reads) => ({ type: 'dataRead', ...read, reads }),
  }
}
