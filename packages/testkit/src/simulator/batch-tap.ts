import type { WriteBatch } from '@fairlead/core/internal'
import { EngineState, encodeBatch, type Outcome } from '@fairlead/engine'

const recorded = new WeakMap<WriteBatch, Uint8Array>()

/**
 * Listens to every engine of this process: the commands of each batch are kept beside its rows, encoded at once. The
 * product needs no switch for it.
 */
export function tapBatches(): void {
  const { prototype } = EngineState
  const takeOutcome = Reflect.get(prototype, 'takeOutcome') as (this: EngineState) => Outcome
  prototype.takeOutcome = function tapped(this: EngineState) {
    const outcome = takeOutcome.call(this)
    recorded.set(outcome.batch, encodeBatch(outcome.commands))
    return outcome
  }
}

/** The commands that led to these rows, as a replica gets them; null if the rows are not from commands. */
export function recordOf(batch: WriteBatch): Uint8Array | null {
  return recorded.get(batch) ?? null
}
