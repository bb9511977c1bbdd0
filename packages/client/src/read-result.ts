import type { ProofClaim, ResultRecord } from '@fairlead/protocol'
import { checked, InvalidResult, type StandardSchema } from './standard-schema.ts'
import { bytesOf } from './wire/hex.ts'

/** The result of a job as a requester reads it. */
export interface ReadResult<Value = unknown> {
  readonly taskId: string
  /** The bytes of the output; null where there is none, or where it is kept elsewhere. */
  readonly output: Uint8Array | null
  /** The output as text. */
  readonly text: string
  /**
   * The value that the handler returned, by the content type of the output: a string, the value of the JSON, or
   * bytes; undefined where there is no output. An output without a content type, of another one, or that is not
   * the JSON it should be, is given as bytes. With a schema: the JSON of the output, as the schema has it.
   */
  readonly value: Value
  /** All that the server says of it: provider, digest, content type, units, what the worker added. */
  readonly record: ResultRecord
}

/** A job whose work is proved, before the proof is final. */
export interface ClaimedResult<Value = unknown> {
  readonly taskId: string
  /** The accepted proof; null where the kind of the job needs none. */
  readonly claim: ProofClaim | null
  /** Null until the claim is final. */
  readonly result: ReadResult<Value> | null
}

export async function readResultOf<Value>(
  record: ResultRecord,
  schema: StandardSchema<unknown, Value> | undefined,
): Promise<ReadResult<Value>> {
  const output = record.output === null ? null : bytesOf(record.output)
  const text = output === null ? '' : new TextDecoder().decode(output)
  const value =
    schema === undefined
      ? typedValue(output, record.content_type)
      : await checked(schema, checkedJson(text))
  return { taskId: record.task_id, output, text, value: value as Value, record }
}

/** The inverse of what a worker does with the value that its handler returned (RESULT-4). */
function typedValue(output: Uint8Array | null, contentType: string | null | undefined): unknown {
  if (output === null) return undefined
  const [type = ''] = (contentType ?? '').toLowerCase().split(';', 1)
  // A byte order mark is part of a string that a handler returned.
  const text = (): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(output)
  if (type.trim().startsWith('text/')) return text()
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type.trim())) return output
  try {
    return JSON.parse(text())
  } catch {
    return output
  }
}

function checkedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidResult(`the output is no JSON: ${(error as Error).message}`)
  }
}
