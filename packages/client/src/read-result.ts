import type { ResultRecord } from '@fairlead/protocol'
import { checked, InvalidResult, type StandardSchema } from './standard-schema.ts'
import { bytesOf } from './wire/hex.ts'

/** The result of a job as a requester reads it. */
export interface ReadResult<Value = unknown> {
  readonly taskId: string
  /** What the handler returned; null where it is kept elsewhere and only its digest is here. */
  readonly output: Uint8Array | null
  /** The output as text. */
  readonly text: string
  /** With a schema: the JSON of the output, as the schema has it. */
  readonly value: Value
  /** All that the server says of it: provider, digest, units, what the worker added. */
  readonly record: ResultRecord
}

export async function readResultOf<Value>(
  record: ResultRecord,
  schema: StandardSchema<unknown, Value> | undefined,
): Promise<ReadResult<Value>> {
  const output = record.output === null ? null : bytesOf(record.output)
  const text = output === null ? '' : new TextDecoder().decode(output)
  const value = schema === undefined ? undefined : await checked(schema, jsonOf(text))
  return { taskId: record.task_id, output, text, value: value as Value, record }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidResult(`the output is no JSON: ${(error as Error).message}`)
  }
}
