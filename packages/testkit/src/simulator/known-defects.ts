/**
 * What the engine is known to do wrong, and where the simulator looks away so that it can look further.
 * Each is found at once with `--strict`. Take a name out when it is repaired: then it is held to its rule.
 */
export const KNOWN_DEFECTS = {
  'life-at-load': 'a life that ended while no engine ran ends when one loads (STATE-6)',
} as const

export type KnownDefect = keyof typeof KNOWN_DEFECTS

/** Is this one looked away from? */
export type Tolerates = (defect: KnownDefect) => boolean
