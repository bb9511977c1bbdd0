import { type ExactInt, least, minus, times } from '../encoding/exact-int.ts'

/** How many times what was reserved an actual counts at most, where nobody says otherwise. */
export const ACTUAL_FACTOR_MAX = 16

/**
 * An actual counts at most `factor` times what was reserved, or the capacity of the limit if that is more
 * (LIMIT-19). So no single lease takes a limit away from everybody for long. The rest is told, and not booked.
 */
export function countedActual(
  actual: ExactInt,
  { reserved, capacity, factor }: { reserved: number; capacity: number; factor: number },
): { readonly counted: ExactInt; readonly excess: number } {
  const scaled = times(reserved, factor)
  const counted = least(actual, scaled > capacity ? scaled : capacity)
  return { counted, excess: Number(least(minus(actual, counted), Number.MAX_SAFE_INTEGER)) }
}
