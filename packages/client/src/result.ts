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
  // Field by field: this is done for every job, and six spreads would take longer than its handler may.
  const reported: { -readonly [Field in keyof LeaseResult]: LeaseResult[Field] } = {}
  if (output !== undefined) reported.output = output
  else if (digest === undefined) reported.output = EMPTY
  if (digest !== undefined) reported.digest = digest
  if (meta !== undefined) reported.meta = encodeCbor(meta)
  if (actualUnits !== undefined) reported.actualUnits = actualUnits
  if (actualTokens !== undefined) reported.actualTokens = actualTokens
  return reported
}
