import { FairleadError } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import { MemoryStore as SoundStore } from '@fairlead/store/memory'

/** What becomes of a commit: it is stored and answered, refused, or stored with its answer lost. */
export type CommitFate = 'ok' | 'fails' | 'answer lost'

/**
 * The store in memory, which keeps the promises of the port, until it is told to break them: the
 * simulated disk under the real engine.
 */
export class MemoryStore extends SoundStore {
  /** Asked before each commit. */
  fate: () => CommitFate = () => 'ok'
  /** How many batches were stored, those whose answer was lost included. */
  commits = 0

  override async commit(batch: WriteBatch): Promise<void> {
    const fate = this.fate()
    if (fate === 'fails') throw unavailable('the disk is full')
    await super.commit(batch)
    this.commits++
    if (fate === 'answer lost') throw unavailable('the answer was lost')
  }
}

function unavailable(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why)
}
