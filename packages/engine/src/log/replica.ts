import { FairleadError } from '@fairlead/core'
import type { EngineState } from '../state/engine-state.ts'
import { decodeBatch, type LogEntry } from './batch.ts'

/** The state that a replica came to is not the one that the batch was recorded with. */
export class ReplicaDiverged extends Error {
  override readonly name = 'ReplicaDiverged'
  /** The batch in which the two differ first. */
  readonly batch: number

  constructor(batch: number, how: string, options?: ErrorOptions) {
    super(`batch ${batch}: ${how}`, options)
    this.batch = batch
  }
}

/**
 * A second state machine that gets nothing but recorded batches. It comes to the same state as the one that recorded
 * them, and proves it batch by batch (COMMAND-4).
 */
export class Replica {
  readonly state: EngineState

  /** The state is as of the batch before the first that is applied. */
  constructor(state: EngineState) {
    this.state = state
  }

  /** `applied` is called after each command; between two of them rows may be taken. */
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

  /** One command of a batch. It changes something here, as it did where it was recorded, and nothing falls due before it. */
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
    // One more is a tick that was not recorded.
    if (state.recorded > recorded + 1) diverge('comes after something that fell due only here')
  }
}
