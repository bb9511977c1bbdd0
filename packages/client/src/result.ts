import { type CborMap, encodeCbor, type LeaseResult } from '@fairlead/core'

/** What a handler may return; nothing at all is an empty output. */
export type JobResult =
  | Uint8Array
  /** Kept as UTF-8. */
  | string
  | {
      readonly output?: Uint8Array
      /** 32 bytes as `0x` hex, where the output is kept elsewhere. */
      readonly digest?: string
      /** Anything worth knowing about the result. */
      readonly meta?: CborMap
      /** What it really took; the estimate stands where it is left out. */
      readonly actualUnits?: number
      /** Tokens of prompt and answer, for the limits; what was reserved stands where it is left out. */
      readonly actualTokens?: number
    }
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a result returns nothing
  | void

const EMPTY = new Uint8Array()
const utf8 = new TextEncoder()

/** The result in the form in which it is reported. */
export function leaseResult(result: JobResult): LeaseResult {
  if (result === undefined) return { output: EMPTY }
  if (result instanceof Uint8Array) return { output: result }
  if (typeof result === 'string') return { output: utf8.encode(result) }
  const { output, digest, meta, actualUnits, actualTokens } = result
  return {
    ...(output === undefined && digest === undefined ? { output: EMPTY } : {}),
    ...(output === undefined ? {} : { output }),
    ...(digest === undefined ? {} : { digest }),
    ...(meta === undefined ? {} : { meta: encodeCbor(meta) }),
    ...(actualUnits === undefined ? {} : { actualUnits }),
    ...(actualTokens === undefined ? {} : { actualTokens }),
  }
}
