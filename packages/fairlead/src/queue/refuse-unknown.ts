import { invalidParams } from '@fairlead/core/internal'

/** Refuses a field that is not known: JavaScript does not see a slip of the pen. */
export function refuseUnknown(
  what: string,
  given: object,
  names: readonly string[],
  path = '',
): void {
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw invalidParams(`${path}${unknown}`, `only the ${what} ${names.join(', ')}`)
}
