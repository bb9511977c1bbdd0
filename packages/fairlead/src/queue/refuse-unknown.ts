import { invalidParams } from '@fairlead/core/internal'
import { kindOf } from './plain-data.ts'

/**
 * Refuses a field that is not known, and anything that has no fields: JavaScript does not see a slip of the pen. `path`
 * stands before the names, as in `backoff.`.
 */
export function refuseUnknown(
  what: string,
  given: unknown,
  names: readonly string[],
  path = '',
): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const place = path === '' ? what : path.slice(0, -1)
    throw invalidParams(place, `an object with any of ${names.join(', ')}`, kindOf(given))
  }
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw invalidParams(`${path}${unknown}`, `only the ${what} ${names.join(', ')}`)
}
