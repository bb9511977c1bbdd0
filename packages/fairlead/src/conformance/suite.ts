import { FairleadError } from '@fairlead/core'
import { invalidParams, readU64 } from '@fairlead/core/internal'

/** JSON as it is read from a vector file. */
// biome-ignore lint/suspicious/noExplicitAny: a vector's shape is its suite's own business
export type Json = any

/** What a case expects and what the product gives for it, to be compared as JSON. */
export interface Outcome {
  readonly expected: Json
  readonly actual: Json
}

/** A suite runs one case through the product. */
export type Suite = (input: Json, expect: Json) => Outcome | Promise<Outcome>

/** The usual suite: the result for an input stands beside what was expected. */
export function suite(run: (input: Json) => Json): Suite {
  return (input, expect) => ({ expected: expect, actual: run(input) })
}

/** A number in either of its forms. */
export function amount(written: Json): bigint {
  const value = readU64(written)
  if (value === null) throw new TypeError(`${JSON.stringify(written)} is not an amount`)
  return value
}

/** An amount as a call has it: one that cannot be read is refused as a server would refuse it. */
export function givenAmount(written: Json): bigint {
  const value = readU64(written)
  if (value === null) throw invalidParams('amount', 'a whole number')
  return value
}

/** A whole number in either of its forms, for where only exact ones are taken: others come out as they can. */
export function number(written: Json): number {
  return typeof written === 'string' ? Number(written) : written
}

/** Runs a call that may be refused, and gives the code of its refusal. */
export function refusal(call: () => void): string | null {
  try {
    call()
    return null
  } catch (error) {
    if (error instanceof FairleadError && error.code !== 'Internal') return error.code
    throw error
  }
}
