import { FairleadError } from '@fairlead/core'
import { compareText, type LogRecord, type WriteBatch } from '@fairlead/core/internal'
import {
  decodeBatch,
  type EngineState,
  type LogEntry,
  Replica,
  ReplicaDiverged,
} from '@fairlead/engine'
import type { Dice } from '../dice.ts'
import { loadState } from '../store/load-state.ts'
import { SimDisk, shareKey } from '../store/sim-disk.ts'
import { broken } from '../violation.ts'
import { compareDisks } from './compare-disks.ts'
import { firstDifference } from './first-difference.ts'

/** What rows say of the last command alone: not what it has decided. */
const LAST_COMMAND = ['beat', 'digest']

/**
 * A replica with tables of its own (COMMAND-4). It gets the records of the log and nothing else, writes rows at other
 * moments than the engine, in the middle of batches too, and begins anew from them when the engine does not.
 */
export class Shadow {
  readonly #dice: Dice
  readonly #disk = new SimDisk()
  #replica: Replica | null = null
  #batch = 0
  /** What was applied since rows were last written. */
  #applied: { readonly batch: number; readonly entry: LogEntry }[] = []

  constructor(dice: Dice) {
    this.#dice = dice
  }

  /** The rows that a new store begins with. */
  installed(rows: WriteBatch): void {
    this.#disk.write(rows)
  }

  /** A record has reached the log; `disk` has all that has happened by then. */
  written({ batch, body }: LogRecord, disk: SimDisk): void {
    this.#batch = batch
    try {
      this.#follow(body)
    } catch (error) {
      if (!(error instanceof ReplicaDiverged)) throw error
      broken('replay', error.message)
    }
    if (this.#dice.oneIn(40)) this.compare(disk)
  }

  /** Both have the same rows. */
  compare(disk: SimDisk): void {
    if (this.#replica === null) return
    this.#write(this.#replica.state)
    compareDisks({ due: disk, found: this.#disk }, { invariant: 'replay', of: 'the replica' })
  }

  #follow(body: Uint8Array): void {
    this.#replica ??= new Replica(this.#load())
    const { state } = this.#replica
    if (this.#dice.oneIn(15)) this.#checkDigest(state, body)
    let isFresh = false
    this.#replica.apply(this.#batch, body, (entry) => {
      this.#applied.push({ batch: this.#batch, entry })
      if (isFresh) this.#checkChange(state, entry)
      // The engine takes no rows of what comes behind a pruning together with those before.
      else if (entry.command.type === 'prune' || this.#dice.oneIn(10)) this.#write(state)
      else return
      isFresh = this.#dice.oneIn(4)
    })
    if (this.#dice.oneIn(30)) this.#replica = this.#again(state)
  }

  #write(state: EngineState): WriteBatch {
    const rows = state.takeRows()
    this.#disk.write(rows)
    this.#applied = []
    return rows
  }

  #load(): EngineState {
    return loadState(this.#disk, this.#batch)
  }

  /** Another replica on what this one has written, which catches up with it. */
  #again(before: EngineState): Replica {
    const replica = new Replica(this.#load())
    for (const { batch, entry } of this.#applied) replica.applyEntry(batch, entry)
    const [due, found] = [before.digest, replica.state.digest]
    if (found !== due) {
      broken('replay', `after a restart the digest of batch ${this.#batch} is ${found}, not ${due}`)
    }
    return replica
  }

  /** All before this command is written; a sign of life is there to change nothing but the time. */
  #checkChange(state: EngineState, { command }: LogEntry): void {
    const before = this.#disk.rows()
    const { pruneEndedBefore, journal } = this.#write(state)
    if (command.type === 'beat' || pruneEndedBefore !== null || journal.length > 0) return
    const lasting = (rows: ReturnType<SimDisk['rows']>) =>
      rows.filter(([table, { id }]) => table !== 'meta' || !LAST_COMMAND.includes(String(id)))
    if (firstDifference(lasting(before), lasting(this.#disk.rows())) !== null) return
    broken('no-op', `${command.type} is recorded, and changes no row`)
  }

  /** Where a command is missing, or comes after the next, something else may be decided; then the digest tells. */
  #checkDigest(state: EngineState, body: Uint8Array): void {
    const { entries } = decodeBatch(body)
    if (entries.length < 2) return
    this.#write(state)
    const [right, wrong] = [this.#load(), this.#load()]
    const place = this.#dice.below(entries.length)
    const others = entries.map(({ command }) => command)
    const moved = others.splice(place, 1)
    if (this.#dice.oneIn(2)) others.splice(place + 1, 0, ...moved)
    for (const { command, at } of entries) right.apply(command, at)
    for (const [i, command] of others.entries()) {
      applyIfPossible(wrong, { command, at: entries[i]?.at ?? 0 })
    }
    if (right.digest !== wrong.digest) return
    const difference = firstDifference(decided(right), decided(wrong))
    if (difference === null) return
    const { type } = entries[place]?.command ?? {}
    broken('digest', `it is the same with another ${type}, and decisions differ at ${difference}`)
  }
}

/** Among other commands one may be refused. */
function applyIfPossible(state: EngineState, { command, at }: LogEntry): void {
  try {
    state.apply(command, at)
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code === 'Internal') throw error
  }
}

/** The rows that tell what was decided (COMMAND-5). */
function decided(state: EngineState): unknown {
  const { journal, newLeases, rounds, shares } = state.takeRows()
  const sorted = [...shares].sort((a, b) => compareText(shareKey(a), shareKey(b)))
  return { journal, newLeases, rounds, shares: sorted }
}
