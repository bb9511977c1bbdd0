import type { WriteBatch } from '@fairlead/core'
import { type Command, EngineState, type Outcome } from '@fairlead/engine'

/** What was done to a state: a command at a time, or one of the few things beside the commands. */
export type Applied =
  | { readonly command: Command; readonly at: number }
  | 'prune'
  | 'takeOutcome'
  | 'settle'
  | 'forgetStoredKeys'

type Tapped = 'apply' | 'prune' | 'takeOutcome' | 'settle' | 'forgetStoredKeys'

const appliedTo = new WeakMap<EngineState, Applied[]>()
const stateBehind = new WeakMap<WriteBatch, EngineState>()
const real = realFunctions()

/** The real functions, for a state that is not to be listened to. */
export const untapped = {
  apply: (state: EngineState, command: Command, nowMs: number) =>
    real.apply.call(state, command, nowMs),
  prune: (state: EngineState) => real.prune.call(state),
  takeOutcome: (state: EngineState) => real.takeOutcome.call(state),
  settle: (state: EngineState, outcome: Outcome) => real.settle.call(state, outcome),
  forgetStoredKeys: (state: EngineState) => real.forgetStoredKeys.call(state),
} as const

/**
 * Listens to every engine of this process: what is applied between two commits belongs to the batch of
 * the second. A command is data and `apply` is synchronous (ENGINE-1), so this is all that a replay
 * needs, and the product needs no switch for it.
 */
export function tapCommands(): void {
  const { prototype } = EngineState
  prototype.apply = function tapped(this: EngineState, command, nowMs) {
    note(this, { command, at: nowMs })
    return untapped.apply(this, command, nowMs)
  }
  prototype.prune = function tapped(this: EngineState) {
    note(this, 'prune')
    untapped.prune(this)
  }
  prototype.takeOutcome = function tapped(this: EngineState) {
    note(this, 'takeOutcome')
    const outcome = untapped.takeOutcome(this)
    stateBehind.set(outcome.batch, this)
    return outcome
  }
  prototype.settle = function tapped(this: EngineState, outcome) {
    note(this, 'settle')
    untapped.settle(this, outcome)
  }
  prototype.forgetStoredKeys = function tapped(this: EngineState) {
    note(this, 'forgetStoredKeys')
    untapped.forgetStoredKeys(this)
  }
}

/**
 * What led to a batch that is being committed, with turns before it that changed nothing but the time
 * and so were not; null if it came from elsewhere.
 */
export function takeCommands(batch: WriteBatch): readonly Applied[] | null {
  const state = stateBehind.get(batch)
  if (state === undefined) return null
  const commands = appliedTo.get(state) ?? []
  appliedTo.set(state, [])
  return commands
}

function note(state: EngineState, applied: Applied): void {
  const list = appliedTo.get(state)
  if (list === undefined) appliedTo.set(state, [applied])
  else list.push(applied)
}

/** As they were before anybody listened: their `this` is given with each call. */
function realFunctions(): Pick<EngineState, Tapped> {
  const { apply, prune, takeOutcome, settle, forgetStoredKeys } =
    EngineState.prototype as unknown as Record<string, unknown>
  return { apply, prune, takeOutcome, settle, forgetStoredKeys } as Pick<EngineState, Tapped>
}
