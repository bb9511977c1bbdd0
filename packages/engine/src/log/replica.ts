import { FairleadError } from '@fairlead/core'
import type { EngineState } from '../state/engine-state.ts'
import { decodeBatch, type LogEntry } from './batch.ts'

/** The replica reached another state than the one that the batch was recorded with. */
export class ReplicaDiverged extends Error {
  override readonly name = 'ReplicaDiverged'
  /** The first batch in which the two states differ. */
  readonly batch: number

  constructor(batch: number, how: string, options?: ErrorOptions) {
    super(`batch ${batch}: ${how}`, options)
    this.batch = batch
  }
}

/**
 * A second state machine that receives only recorded batches. It reaches the same state as the recorder, and
 * proves it batch by batch (COMMAND-4).
 */
export class Replica {
  readonly state: EngineState

  /** `state` is the one before the first batch that will be applied. */
  constructor(state: EngineState) {
    this.state = state
  }

  /** `applied` is called after each command. Rows may be taken between two commands. */
  apply(number: number, bytes: Uint8Array, applied: (entry: LogEntry) => void = () => {}): void {
    const { entries, digest } = decodeBatch(bytes)
    for (const entry of entries) {
      this.applyEntry(number, entry)
      applied(entry)
    }
    const found = this.state.takeBatch().digest
    if (found === digest) return
    throw new ReplicaDiverged(number, `the digest is ${found}, recorded is ${digest}`)
  }

  /**
   * Applies one command of a batch. It has to change something, as it did when it was recorded, and nothing may
   * fall due before it.
   */
  applyEntry(number: number, { command, at }: LogEntry): void {
    const { state } = this
    const { recorded } = state
    const diverge = (how: string, cause?: unknown): never => {
      throw new ReplicaDiverged(number, `${command.type} at ${at} ${how}`, { cause })
    }
    try {
      state.apply(command, at)
    } catch (error) {
      if (error instanceof FairleadError) diverge(`is refused: ${error.message}`, error)
      throw error
    }
    if (state.recorded === recorded) diverge('changes nothing')
    // A second recorded command is a tick that the recorder did not have.
    if (state.recorded > recorded + 1) diverge('comes after something that fell due only here')
  }
}
