import { ERRORS } from '@fairlead/core'
import type { z } from 'zod'
import { EVENTS } from './events/index.ts'
import { COMMON_ERRORS, type Method, ROLES } from './method.ts'
import { METHODS } from './methods/index.ts'
import { NOTIFICATIONS } from './notifications/index.ts'
import { jsonSchemaOf } from './openrpc.ts'
import { ERROR_NUMBERS } from './rpc/error-numbers.ts'

type JsonSchema = Record<string, unknown>

/** The body of docs/reference/methods.md, in parts that are joined by empty lines. */
export function methodsReference(): string[] {
  const named: Record<string, JsonSchema> = {}
  const methods = Object.values(METHODS).flatMap((method) => methodParts(method, named))
  const notifications = Object.values(NOTIFICATIONS).flatMap(
    ({ name, summary, params, example }) => [
      `### \`${name}\``,
      summary,
      fieldsTable(params, 'output', named),
      jsonBlock({ jsonrpc: '2.0', method: name, params: example }),
    ],
  )
  const events = Object.values(EVENTS).map(({ name, summary, schema }) => {
    const { seq: _, at: __, type: ___, ...own } = propertiesOf(schema, named)
    return [
      `\`${name}\``,
      summary,
      Object.keys(own)
        .map((field) => `\`${field}\``)
        .join(', '),
    ]
  })
  return [
    'Every call of JSON-RPC 2.0 that `POST /rpc` and `GET /ws` take. Params come by name, or as one object in an array. A field that is not listed is refused. Bytes are `0x` and lower-case hex digits in JSON and raw bytes in CBOR; a whole number above 2^53 − 1 is a decimal string in JSON. `admin` may call everything.',
    '## Who may call what',
    '`admin` may call every method. Each role is held to what belongs to it, as the method says.',
    rolesTable(),
    '## Methods',
    ...methods,
    '## Messages of the server',
    'On a WebSocket the server also says things by itself, as notifications.',
    ...notifications,
    '## Events',
    'Each has `type`, `seq` (one more than that of the event before) and `at`, and the fields given here.',
    table(['event', 'what happened', 'fields'], events),
    '## Records',
    ...Object.entries(named)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, schema]) => [`### ${name}`, schemaTable(schema)]),
    '## Errors',
    `Every call may be refused with ${codes(COMMON_ERRORS)}; others are listed with their methods. \`error.data\` is \`{code, details, retryable}\`.`,
    table(
      ['number', 'code', 'meaning', 'retryable'],
      Object.entries(ERRORS).map(([code, { text, retryable }]) => [
        String(ERROR_NUMBERS[code as keyof typeof ERRORS]),
        `\`${code}\``,
        text,
        retryable ? 'yes' : 'no',
      ]),
    ),
  ]
}

/** One row a method, one column a role. */
function rolesTable(): string {
  const roles = ROLES.filter((role) => role !== 'admin')
  const rows = Object.values(METHODS).map(({ name, roles: may, access }: Method) => [
    `\`${name}\``,
    access === 'read' ? 'reads' : 'changes',
    ...roles.map((role) => (may.includes(role) ? 'yes' : '')),
  ])
  return table(['method', 'it', ...roles], rows)
}

function methodParts(method: Method, named: Record<string, JsonSchema>): string[] {
  const { name, summary, description, roles, access, params, result, errors, example } = method
  return [
    `### \`${name}\``,
    summary,
    ...(description === undefined ? [] : [description]),
    `Roles: ${['admin', ...roles].join(', ')}. ${access === 'read' ? 'It only reads.' : 'It changes state.'}${errors.length === 0 ? '' : ` Errors: ${codes(errors)}.`}`,
    fieldsTable(params, 'input', named),
    `Result: ${typeText(jsonSchemaOf(result, 'output', named))}`,
    ...(isNamed(result, named) ? [] : [fieldsTable(result, 'output', named)]),
    jsonBlock({ jsonrpc: '2.0', id: 1, method: name, params: example.params }),
    jsonBlock({ jsonrpc: '2.0', id: 1, result: example.result }),
  ]
}

function isNamed(schema: z.ZodType, named: Record<string, JsonSchema>): boolean {
  const { $ref, properties } = jsonSchemaOf(schema, 'output', named)
  return $ref !== undefined || properties === undefined
}

function propertiesOf(schema: z.ZodType, named: Record<string, JsonSchema>): JsonSchema {
  return (jsonSchemaOf(schema, 'output', named)['properties'] ?? {}) as JsonSchema
}

function fieldsTable(
  schema: z.ZodType,
  io: 'input' | 'output',
  named: Record<string, JsonSchema>,
): string {
  return schemaTable(jsonSchemaOf(schema, io, named))
}

function schemaTable(schema: JsonSchema): string {
  const options = (schema['oneOf'] ?? schema['anyOf']) as JsonSchema[] | undefined
  if (options !== undefined) return options.map(schemaTable).join('\n\nor\n\n')
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>
  const required = new Set((schema['required'] ?? []) as string[])
  const rows = Object.entries(properties).map(([name, field]) => [
    `\`${name}\`${required.has(name) ? '' : ' (optional)'}`,
    typeText(field),
    typeof field['description'] === 'string' ? field['description'] : '',
  ])
  return rows.length === 0 ? 'No fields.' : table(['field', 'type', 'notes'], rows)
}

/** A type in words, for people. */
function typeText(schema: JsonSchema): string {
  const {
    $ref,
    anyOf,
    oneOf,
    enum: choices,
    const: only,
    type,
    items,
    pattern,
    properties,
  } = schema
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    return `[${name}](#${name.toLowerCase()})`
  }
  const options = (anyOf ?? oneOf) as JsonSchema[] | undefined
  if (options !== undefined) {
    return isU64(options) ? 'u64' : options.map(typeText).join(' or ')
  }
  if (only !== undefined) return `\`${JSON.stringify(only)}\``
  if (Array.isArray(choices)) return choices.map((choice) => `\`${String(choice)}\``).join(', ')
  if (type === 'array') return `list of ${typeText((items ?? {}) as JsonSchema)}`
  if (type === 'object' && properties !== undefined) {
    const fields = Object.entries(properties as Record<string, JsonSchema>)
    return `{ ${fields.map(([name, field]) => `${name}: ${typeText(field)}`).join('; ')} }`
  }
  if (typeof pattern === 'string' && pattern.startsWith('^0x')) {
    return pattern.includes('{64}') ? '32 bytes' : 'bytes'
  }
  return typeof type === 'string' ? type : 'anything'
}

function isU64(options: readonly JsonSchema[]): boolean {
  return options.some(({ pattern }) => typeof pattern === 'string' && pattern.includes('\\d{0,19}'))
}

function codes(list: readonly string[]): string {
  return list.map((code) => `\`${code}\``).join(', ')
}

function jsonBlock(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
