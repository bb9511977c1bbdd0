import { EngineState } from '@fairlead/engine'

let isTapped = false
let isSpared = false
let strike: (() => void) | null = null
let left = 0

/**
 * After so many commands, the next one that an engine applies fails with an error that is no refusal, when it has
 * already changed something: the engine has to throw its state away. `struck` is called then. The product needs no
 * switch for it.
 */
export function armDefect(commands: number, struck: () => void): void {
  strike = struck
  left = commands
  tap()
}

export function disarmDefect(): void {
  strike = null
}

/** Applies commands to other states than the engine's. */
export function sparing(apply: () => void): void {
  const before = isSpared
  isSpared = true
  try {
    apply()
  } finally {
    isSpared = before
  }
}

function tap(): void {
  if (isTapped) return
  isTapped = true
  const { prototype } = EngineState
  const apply = Reflect.get(prototype, 'apply') as EngineState['apply']
  prototype.apply = function tapped(this: EngineState, ...given) {
    const applied = apply.apply(this, given)
    if (strike === null || isSpared || left-- > 0) return applied
    const struck = strike
    strike = null
    struck()
    throw new Error('a defect')
  }
}
