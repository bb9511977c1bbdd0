import { ERRORS, type ErrorCode } from '@fairlead/core'
import { z } from 'zod'
import { COMMON_ERRORS, type Method } from './method.ts'
import { METHODS } from './methods/index.ts'
import { ERROR_NUMBERS } from './rpc/error-numbers.ts'
import { SHOWN_AS } from './wire/checked-later.ts'
import { LEAVES } from './wire/leaves.ts'
import { anyPayload, payload } from './wire/payload.ts'

type JsonSchema = Record<string, unknown>

/** The description of all methods, in the form of OpenRPC 1.3 (RPC-7). */
export function openRpcDocument({ version }: { readonly version: string }): JsonSchema {
  const schemas: Record<string, JsonSchema> = {}
  const methods = Object.values(METHODS).map((method) => methodObject(method, schemas))
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Fairlead',
      version,
      description: 'A durable, fair dispatcher. Bytes are 0x hex in JSON and raw in CBOR.',
    },
    methods,
    components: { schemas: sortedByName(schemas) },
  }
}

/** The JSON Schema of one schema; what has a name of its own goes into `named`. */
export function jsonSchemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
  named: Record<string, JsonSchema>,
): JsonSchema {
  const made = z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // What is checked by others is taken as it is; documents show what these accept.
      const shown = isPayload(zodSchema) ? anyPayload : SHOWN_AS.get(zodSchema)
      if (shown !== undefined) Object.assign(jsonSchema, jsonSchemaOf(shown, io, named))
    },
  }) as JsonSchema
  const { $schema: _, definitions = {}, ...own } = made
  for (const [name, body] of Object.entries(definitions as Record<string, JsonSchema>)) {
    const { $schema: __, ...rest } = relinked(body)
    named[name] = rest
  }
  return relinked(own)
}

function isPayload(schema: unknown): boolean {
  return schema === payload || LEAVES.get(schema as z.ZodType)?.leaf === 'payload'
}

function methodObject(method: Method, schemas: Record<string, JsonSchema>): JsonSchema {
  const { name, summary, description, roles, access, params, result, errors, example } = method
  const input = jsonSchemaOf(params, 'input', schemas)
  const properties = (input['properties'] ?? {}) as Record<string, JsonSchema>
  const required = new Set((input['required'] ?? []) as string[])
  const codes = [...new Set([...COMMON_ERRORS, ...errors])]
  return {
    name,
    summary,
    ...(description === undefined ? {} : { description }),
    'x-roles': ['admin', ...roles],
    'x-access': access,
    paramStructure: 'by-name',
    params: Object.entries(properties).map(([field, schema]) => ({
      name: field,
      required: required.has(field),
      schema,
    })),
    result: { name: 'result', schema: jsonSchemaOf(result, 'output', schemas) },
    errors: codes.map(errorObject),
    examples: [
      {
        name: 'example',
        params: Object.entries(example.params as object).map(([field, value]) => ({
          name: field,
          value: value as unknown,
        })),
        result: { name: 'result', value: example.result },
      },
    ],
  }
}

function errorObject(code: ErrorCode): JsonSchema {
  const { text, retryable } = ERRORS[code]
  return { code: ERROR_NUMBERS[code], message: text, data: { code, retryable } }
}

/** Definitions of JSON Schema are components of OpenRPC. */
function relinked<Value>(value: Value): Value {
  const text = JSON.stringify(value).replaceAll('"#/definitions/', '"#/components/schemas/')
  return JSON.parse(text) as Value
}

function sortedByName(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
}
