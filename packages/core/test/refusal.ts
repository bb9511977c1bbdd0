import { type ErrorCode, FairleadError } from '../src/errors.ts'

/** The code that a call is refused with, or null if it is taken; any other error is a crash. */
export function refusal(call: () => unknown): ErrorCode | null {
  try {
    call()
    return null
  } catch (error) {
    if (error instanceof FairleadError) return error.code
    throw error
  }
}
