import { inspect } from 'node:util'

/** Deep and long values are cut where a reader would stop. */
const BOUNDS = {
  depth: 4,
  maxArrayLength: 100,
  maxStringLength: 4_096,
  breakLength: Number.POSITIVE_INFINITY,
} as const

/** Text of whatever a handler says of itself, at most so long (PROGRESS-4). It never throws. */
export function saidText(said: unknown, charactersMax: number): string {
  const text = typeof said === 'string' ? said : shown(said)
  // A cut may leave half a character.
  return text.slice(0, charactersMax).toWellFormed()
}

function shown(value: unknown): string {
  try {
    return inspect(value, BOUNDS)
  } catch {
    return '(a value that cannot be shown)'
  }
}
