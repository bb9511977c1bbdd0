import { type CborMap, encodeCbor, type LeaseResult } from '@fairlead/core'
import { jsonText, NotSerializable } from './json-text.ts'
import { InvalidResult } from './standard-schema.ts'

export interface CompletionFields {
  /** The output, as if the handler had returned it. */
  readonly value?: unknown
  /** SHA3-256 of the output as `0x` hex; alone, where the output is kept elsewhere. */
  readonly digest?: string
  /** Media type of the output; that of its value where it is left out. */
  readonly contentType?: string
  /** Anything worth knowing about the result. */
  readonly meta?: CborMap
  /** Units that the job took; the estimate stands where it is left out. */
  readonly actualUnits?: number
  /** Tokens of prompt and answer, for the limits; the reserved number stands where it is left out. */
  readonly actualTokens?: number
}

/** Returned by a handler that has more to say than its output. A plain object is always an output (RESULT-2). */
export class Completion implements CompletionFields {
  readonly value?: unknown
  readonly digest?: string
  readonly contentType?: string
  readonly meta?: CborMap
  readonly actualUnits?: number
  readonly actualTokens?: number

  constructor(fields: CompletionFields = {}) {
    Object.assign(this, fields)
  }
}

export const CONTENT_TYPES = {
  text: 'text/plain',
  bytes: 'application/octet-stream',
  json: 'application/json',
} as const

type Writable<T> = { -readonly [Field in keyof T]: T[Field] }

const utf8 = new TextEncoder()

/** The value that a handler returned, in the form in which it is reported (RESULT-1). */
export function leaseResult(returned: unknown): LeaseResult {
  if (!(returned instanceof Completion)) return outputOf(returned)
  const { value, digest, contentType, meta, actualUnits, actualTokens } = returned
  const reported: Writable<LeaseResult> = outputOf(value)
  if (digest !== undefined) reported.digest = digest
  const hasOutput = reported.output !== undefined || digest !== undefined
  if (contentType !== undefined && hasOutput) reported.contentType = contentType
  if (meta !== undefined) reported.meta = encodedMeta(meta)
  if (actualUnits !== undefined) reported.actualUnits = actualUnits
  if (actualTokens !== undefined) reported.actualTokens = actualTokens
  return reported
}

/** A value as JSON, also where it is text: a reader with a schema expects JSON. */
export function jsonCompletion(value: unknown): Completion {
  const text = jsonText(value)
  if (text === undefined) return new Completion()
  return new Completion({ value: utf8.encode(text), contentType: CONTENT_TYPES.json })
}

function outputOf(value: unknown): Writable<LeaseResult> {
  if (value === undefined) return {}
  if (value instanceof Uint8Array) return { output: value, contentType: CONTENT_TYPES.bytes }
  if (typeof value === 'string') {
    // UTF-8 has no form for it, and another text would come back.
    if (!value.isWellFormed())
      throw new NotSerializable('result', 'text with half a surrogate pair')
    return { output: utf8.encode(value), contentType: CONTENT_TYPES.text }
  }
  const text = jsonText(value)
  return text === undefined ? {} : { output: utf8.encode(text), contentType: CONTENT_TYPES.json }
}

function encodedMeta(meta: CborMap): Uint8Array {
  try {
    return encodeCbor(meta)
  } catch (error) {
    throw new InvalidResult(
      `meta: expected values with a canonical encoding: ${(error as Error).message}`,
      { cause: error },
    )
  }
}
