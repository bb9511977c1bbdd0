import { invalidParams } from '@fairlead/core/limits'

/**
 * The object as given, or `InvalidParams` if it is none or has a field that nobody reads: a limit with a slip in its
 * name would be no limit at all.
 */
export function knownFields<T extends object>(
  field: string,
  given: T,
  known: readonly (keyof T & string)[],
): T {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidParams(field, `an object with ${known.join(', ')}`)
  }
  const unknown = Object.keys(given).find((name) => !(known as readonly string[]).includes(name))
  if (unknown === undefined) return given
  const at = field === 'options' ? unknown : `${field}.${unknown}`
  throw invalidParams(at, `no such field; there are ${known.join(', ')}`)
}
