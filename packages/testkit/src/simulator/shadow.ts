import { FairleadError } from '@fairlead/core'
import { compareText, type WriteBatch } from '@fairlead/core/internal'
import {
  assignedSince,
  decodeBatch,
  type EngineState,
  type LogEntry,
  Replica,
  ReplicaDiverged,
  stateOf,
} from '@fairlead/engine'
import type { Dice } from './dice.ts'
import { firstDifference } from './first-difference.ts'
import { SimDisk, shareKey } from './sim-disk.ts'
import type { Commit } from './sim-store.ts'
import { broken } from './violation.ts'

/** What rows say of the last command alone: not what it has decided. */
const LAST_COMMAND = ['beat', 'digest']

/**
 * A replica with tables of its own (COMMAND-4). It gets the recorded commands and nothing else, writes rows at other
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

  /** A batch has reached the disk of the engine. */
  written({ batch, record }: Commit, disk: SimDisk): void {
    if (record === null) return this.#disk.write(batch)
    this.#batch++
    try {
      this.#follow(record)
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
    const [due, found] = [disk.everything(), this.#disk.everything()]
    const place = due.findIndex((row, i) => firstDifference(row, found[i]) !== null)
    const difference = firstDifference(due[place] ?? due.length, found[place] ?? found.length)
    if (difference === null) return
    const [table, row = {}] = due[place] ?? []
    const name = [row.id, row.lane, row.key].filter((part) => part !== undefined).map(String)
    broken('replay', `${table} ${name.join(' ')} of the replica differs at ${difference}`)
  }

  #follow(record: Uint8Array): void {
    this.#replica ??= new Replica(this.#load())
    const { state } = this.#replica
    if (this.#dice.oneIn(60)) this.#checkDigest(state, record)
    let isFresh = false
    this.#replica.apply(this.#batch, record, (entry) => {
      this.#applied.push({ batch: this.#batch, entry })
      if (isFresh) this.#checkChange(state, entry)
      else if (this.#dice.oneIn(10)) this.#write(state)
      else return
      isFresh = this.#dice.oneIn(4)
    })
    if (this.#dice.oneIn(30)) this.#replica = this.#again(state)
  }

  #write(state: EngineState): WriteBatch {
    const { batch } = state.takeRows()
    this.#disk.write(batch)
    this.#applied = []
    return batch
  }

  #load(): EngineState {
    const snapshot = this.#disk.snapshot()
    const since = assignedSince(snapshot)
    return stateOf(snapshot, since === null ? [] : this.#disk.assignmentsSince(since))
  }

  /** Another replica on what this one has written, which catches up with it. */
  #again(before: EngineState): Replica {
    const replica = new Replica(this.#load())
    for (const { batch, entry } of this.#applied) replica.applyEntry(batch, entry)
    const [due, found] = [before.takeBatch().digest, replica.state.takeBatch().digest]
    if (found !== due) {
      broken('replay', `after a restart the digest of batch ${this.#batch} is ${found}, not ${due}`)
    }
    return replica
  }

  /** All before this command is written; a sign of life is there to change nothing but the time. */
  #checkChange(state: EngineState, { command }: LogEntry): void {
    const before = this.#disk.everything()
    const { pruneEndedBefore } = this.#write(state)
    if (command.type === 'beat' || pruneEndedBefore !== null) return
    const lasting = (rows: ReturnType<SimDisk['everything']>) =>
      rows.filter(([table, { id }]) => table !== 'meta' || !LAST_COMMAND.includes(String(id)))
    if (firstDifference(lasting(before), lasting(this.#disk.everything())) !== null) return
    broken('no-op', `${command.type} is recorded, and changes no row`)
  }

  /** Where a command is missing, or comes after the next, something else may be decided; then the digest tells. */
  #checkDigest(state: EngineState, record: Uint8Array): void {
    const { entries } = decodeBatch(record)
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
    if (right.takeBatch().digest !== wrong.takeBatch().digest) return
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
  const { journal, newLeases, rounds, shares } = state.takeRows().batch
  const sorted = [...shares].sort((a, b) => compareText(shareKey(a), shareKey(b)))
  return { journal, newLeases, rounds, shares: sorted }
}
