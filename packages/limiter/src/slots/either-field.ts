import { invalidParams } from '@fairlead/core/limits'

/** A field that has two names: under which one it was given, and its value. Both at once are `InvalidParams`. */
export function eitherField<T extends object, Name extends keyof T & string>(
  at: string,
  given: T,
  [name, other]: readonly [Name, Name],
): { readonly name: Name; readonly value: T[Name] } {
  if (given[other] === undefined) return { name, value: given[name] }
  if (given[name] === undefined) return { name: other, value: given[other] }
  const expected = `either ${name} or ${other}`
  throw invalidParams(`${at}.${name}`, expected, `both; leave ${other} out`)
}
