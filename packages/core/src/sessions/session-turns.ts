import { compareText } from '../encoding/text.ts'

/** A session of a dispatch key that has a ready job. */
export interface Turn {
  readonly eventId: string
  /** Its credit in weighted round robin. */
  credit: number
}

export type Weights = Readonly<Record<string, number>>

/** Round robin: the next session in key order after the one served last (DISPATCH-3). `ready` is in key order. */
export function nextTurn<T extends Turn>(
  ready: readonly T[],
  servedLast: string | null,
): T | undefined {
  if (servedLast === null) return ready[0]
  return ready[indexAfter(ready, servedLast)] ?? ready[0]
}

/** The index of the first turn after a key, or the length if there is none. */
export function indexAfter(turns: readonly Turn[], eventId: string): number {
  let low = 0
  let high = turns.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareText((turns[middle] as Turn).eventId, eventId) > 0) high = middle
    else low = middle + 1
  }
  return low
}

/** Smooth weighted round robin: the session to serve (DISPATCH-4). `ready` is in key order. */
export function weightedTurn<T extends Turn>(ready: readonly T[], weights: Weights): T | undefined {
  let best: T | undefined
  let bestFigure = -Infinity
  for (const turn of ready) {
    const figure = turn.credit + weightOf(turn, weights)
    if (figure <= bestFigure) continue
    best = turn
    bestFigure = figure
  }
  return best
}

/** Books the turn that `weightedTurn` chose. Every session gains its weight, and the served one pays the sum. */
export function bookWeightedTurn(ready: readonly Turn[], weights: Weights, served: Turn): void {
  let sum = 0
  for (const turn of ready) {
    const weight = weightOf(turn, weights)
    turn.credit += weight
    sum += weight
  }
  served.credit -= sum
}

function weightOf({ eventId }: Turn, weights: Weights): number {
  return Object.hasOwn(weights, eventId) ? (weights[eventId] as number) : 1
}
