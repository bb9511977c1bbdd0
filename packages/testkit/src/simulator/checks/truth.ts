import type { LogRecord, WriteBatch } from '@fairlead/core/internal'
import {
  type Command,
  decodeBatch,
  type LogEntry,
  Replica,
  ReplicaDiverged,
} from '@fairlead/engine'
import { loadState } from '../store/load-state.ts'
import { SimDisk } from '../store/sim-disk.ts'
import { broken } from '../violation.ts'

/** Commands before which the rows of a record are taken. */
const BREAKS: readonly Command['type'][] = ['resume', 'setPolicy', 'prune', 'forgetJobs']

/** Who wants to know what a record says. */
export interface TruthListener {
  /** Called before each command, with the time of the last one. */
  command(entry: LogEntry, nowMs: number): void
  /**
   * Called with the rows of a record. They come in parts if deadlines or rules change in the middle of it. `isPart`:
   * they are split so that one command can be looked at by itself.
   */
  rows(rows: WriteBatch, isPart: boolean): void
  /** Rows are taken before and after this command. */
  isLookedAt(command: Command): boolean
}

/**
 * All that has happened: a replica that gets each record when it has reached the log, whether or not any engine hears of
 * that. What people are told must be here by then.
 */
export class Truth {
  readonly disk = new SimDisk()
  readonly #listener: TruthListener
  #replica: Replica | null = null
  /** The newest record. */
  batch = 0
  /** The length of the journal at the end of each record. */
  readonly #entries: number[] = [0]

  constructor(listener: TruthListener) {
    this.#listener = listener
  }

  /** The length of the journal at the end of a record. */
  entriesAt(batch: number): number {
    return this.#entries[batch] ?? this.disk.journal.length
  }

  /** The rows that a new store begins with. */
  installed(rows: WriteBatch): void {
    this.#write(rows)
    this.#replica = new Replica(loadState(this.disk, 0))
  }

  written({ batch, digest, body }: LogRecord): void {
    const replica = this.#replica
    if (replica === null) broken('log', `batch ${batch} is appended to a store that is not set up`)
    this.batch = batch
    const recorded = decodeBatch(body)
    if (recorded.digest !== digest) broken('log', `batch ${batch} is recorded with two digests`)
    const isLookedAt = (i: number): boolean => {
      const command = recorded.entries[i]?.command
      return command !== undefined && this.#listener.isLookedAt(command)
    }
    const isSplit = (i: number): boolean => isLookedAt(i - 1) || isLookedAt(i)
    try {
      for (const [i, entry] of recorded.entries.entries()) {
        // Deadlines or rules change here: what was before has to be judged by the old ones.
        if (i > 0 && BREAKS.includes(entry.command.type)) this.#write(replica.state.takeRows())
        else if (i > 0 && isSplit(i)) this.#write(replica.state.takeRows(), true)
        this.#listener.command(entry, replica.state.recordedAt)
        replica.applyEntry(batch, entry)
      }
    } catch (error) {
      if (!(error instanceof ReplicaDiverged)) throw error
      broken('replay', error.message)
    }
    const found = replica.state.takeOutcome().commands.digest
    if (found !== digest)
      broken('replay', `the digest of batch ${batch} is ${found}, not ${digest}`)
    this.#write(replica.state.takeRows())
    this.#entries[batch] = this.disk.journal.length
  }

  #write(rows: WriteBatch, isPart = false): void {
    this.disk.write(rows)
    this.#listener.rows(rows, isPart)
  }
}
