/** A stretch of time with the words of the wire. */
export interface Stretch {
  readonly from: number
  /** Null: it goes on. */
  readonly to: number | null
}

export interface Place {
  /** Of the whole, from 0 to 1. */
  readonly left: number
  readonly width: number
}

/** Gaps and stretches longer than this part of the whole are not drawn any longer, or the rest could not be seen. */
const LONGEST_SHARE = 0.5

/**
 * Where stretches lie between the first moment and now. Where one of them takes most of the time, it is drawn
 * shorter than it is, and so is each gap; order and touching are kept. Lengths are told in numbers beside it.
 */
export function placesOf(stretches: readonly Stretch[], now: number): Place[] {
  if (stretches.length === 0) return []
  const moments = [...new Set(stretches.flatMap(({ from, to }) => [from, to ?? now]))].sort(
    (a, b) => a - b,
  )
  const lengths = moments.slice(1).map((moment, i) => moment - (moments[i] as number))
  const drawn = shortened(lengths)
  const at = new Map<number, number>([[moments[0] as number, 0]])
  let sum = 0
  for (const [i, length] of drawn.entries()) {
    sum += length
    at.set(moments[i + 1] as number, sum)
  }
  const whole = Math.max(sum, Number.MIN_VALUE)
  return stretches.map(({ from, to }) => {
    const left = (at.get(from) ?? 0) / whole
    return { left, width: Math.max(0, (at.get(to ?? now) ?? 0) / whole - left) }
  })
}

/** No part longer than all others together. */
function shortened(lengths: readonly number[]): number[] {
  const sum = lengths.reduce((all, length) => all + length, 0)
  const longest = Math.max(0, ...lengths)
  const others = sum - longest
  if (others === 0 || longest <= LONGEST_SHARE * sum) return [...lengths]
  return lengths.map((length) => Math.min(length, others))
}

/** Whether the drawing is true to scale. */
export function isToScale(stretches: readonly Stretch[], now: number): boolean {
  const places = placesOf(stretches, now)
  const first = Math.min(...stretches.map(({ from }) => from))
  const last = Math.max(...stretches.map(({ to }) => to ?? now))
  const whole = last - first
  if (whole <= 0) return true
  return stretches.every(({ from, to }, i) => {
    const share = ((to ?? now) - from) / whole
    return Math.abs(share - (places[i]?.width ?? 0)) < 0.01
  })
}
