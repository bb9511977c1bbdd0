import { FairleadError } from '@fairlead/core'
import type { EngineState } from '../state/engine-state.ts'
import { decodeBatch, type LogBatch, type LogEntry, UnreadableBatch } from './batch.ts'

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

/** A place where a replica decided otherwise than the recorder. */
export interface Difference {
  readonly batch: number
  /** In words. */
  readonly text: string
  /** The command that has no effect here, or another one; null if only the digest of the batch differs. */
  readonly command: string | null
}

/**
 * A second state machine that receives only recorded batches. It reaches the same state as the recorder, and
 * proves it batch by batch (COMMAND-4).
 */
export class Replica {
  readonly state: EngineState
  readonly #differs: ((difference: Difference) => void) | null

  /**
   * `state` is the one before the first batch that will be applied. If `differs` is given, a difference is told and the
   * replica goes on with its own decisions (REPLAY-2); otherwise it throws `ReplicaDiverged`.
   */
  constructor(
    state: EngineState,
    { differs }: { readonly differs?: (difference: Difference) => void } = {},
  ) {
    this.state = state
    this.#differs = differs ?? null
  }

  /** `applied` is called after each command. Rows may be taken between two commands. */
  apply(number: number, bytes: Uint8Array, applied: (entry: LogEntry) => void = () => {}): void {
    const { entries, digest } = readBatch(number, bytes)
    for (const entry of entries) {
      this.applyEntry(number, entry)
      applied(entry)
    }
    const found = this.state.takeOutcome().commands.digest
    if (found === digest) return
    this.#diverge(number, `the digest is ${found}, recorded is ${digest}`, { command: null })
    // The digest of a later batch tells again if that batch differs.
    this.state.acceptDigest(digest)
  }

  /**
   * Applies one command of a batch. It has to change something, as it did when it was recorded, and nothing may
   * fall due before it.
   */
  applyEntry(number: number, { command, at }: LogEntry): void {
    const { state } = this
    const { recorded } = state
    const diverge = (how: string, cause?: unknown): void =>
      this.#diverge(number, `${command.type} at ${at} ${how}`, { command: command.type, cause })
    try {
      state.apply(command, at)
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      // A defect leaves a state behind that nobody may go on with.
      const isDefect = error.code === 'Internal'
      if (isDefect && this.#differs !== null) throw error
      return diverge(`is refused: ${error.message}`, error)
    }
    if (state.recorded === recorded) diverge('changes nothing')
    // A second recorded command is a tick that the recorder did not have.
    if (state.recorded > recorded + 1) diverge('comes after something that fell due only here')
  }

  #diverge(
    batch: number,
    text: string,
    { command, cause }: { readonly command: string | null; readonly cause?: unknown },
  ): void {
    if (this.#differs === null) throw new ReplicaDiverged(batch, text, { cause })
    this.#differs({ batch, text, command })
  }
}

function readBatch(number: number, bytes: Uint8Array): LogBatch {
  try {
    return decodeBatch(bytes)
  } catch (cause) {
    throw new UnreadableBatch(number, { cause })
  }
}
