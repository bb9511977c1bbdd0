import { type ExactInt, least, minus, times } from '../encoding/exact-int.ts'

/** The default maximum for an actual, as a multiple of the reserved amount. */
export const ACTUAL_FACTOR_MAX = 16

/**
 * An actual counts at most `factor` times the reserved amount, or the limit's capacity if that is more (LIMIT-19).
 * So no single lease can block a limit for long. The rest is reported but not booked.
 */
export function countedActual(
  actual: ExactInt,
  { reserved, capacity, factor }: { reserved: number; capacity: number; factor: number },
): { readonly counted: ExactInt; readonly excess: number } {
  const scaled = times(reserved, factor)
  const counted = least(actual, scaled > capacity ? scaled : capacity)
  return { counted, excess: Number(least(minus(actual, counted), Number.MAX_SAFE_INTEGER)) }
}
