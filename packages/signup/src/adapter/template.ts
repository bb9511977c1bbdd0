import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Json } from '@fairlead/client'
import { isPlainObject } from '@fairlead/core/internal'
import { jsonAt } from './json-path.ts'
import { Secret } from './secret.ts'

/** Where secrets come from; a problem is told with the name of what is missing, never with a value. */
export interface SecretSources {
  /** Null: they are not looked up. */
  readonly env: Readonly<Record<string, string | undefined>> | null
  /** Paths of files are meant from here. */
  readonly folder: string
  readonly problem: (text: string) => void
}

/** What a placeholder may stand for: the fields of the job, and what the attempt adds to them. */
export interface Scope {
  readonly event_id: string
  readonly org_ref: string
  readonly user_id: string
  readonly job_id: string
  readonly scheduled_time: number
  readonly idempotency_key: string
  readonly args: { readonly [key: string]: Json }
  /** The organisation's own; null where there is none. */
  readonly credential: Secret | null
  /** In a commit or release: what is held. */
  readonly hold_id: string | null
  /** When the fee is taken: what was booked, where the platform gave a number. */
  readonly booking_number: string | null
}

/** A request that cannot be made from this job. It has not been sent. */
export class Unfillable extends Error {
  override readonly name = 'Unfillable'
  /** In the taxonomy: the job's own fault, or the operator's. */
  readonly code: 'validation_error' | 'auth_error'

  constructor(message: string, code: Unfillable['code'] = 'validation_error') {
    super(message)
    this.code = code
  }

  /** There is nothing to put in the place of a path. */
  static nothingFor(path: string): Unfillable {
    return path === 'credential'
      ? new Unfillable(
          'there is no credential for this organisation; add it under adapter.credentials',
          'auth_error',
        )
      : new Unfillable(
          `the request needs {${path}}, and the job has none; write {${path}?} if it is optional`,
        )
  }
}

interface Placeholder {
  readonly path: string
  readonly isOptional: boolean
}

type Part = string | Secret | Placeholder

/** Text with places to fill: `{event_id}`, `{args.child.age?}`, `${env:KEY}`, `${file:path}`. */
export type TextTemplate = readonly Part[]

/** JSON with such texts in it. */
export type JsonTemplate =
  | null
  | boolean
  | number
  | { readonly text: TextTemplate }
  | { readonly list: readonly JsonTemplate[] }
  | { readonly map: readonly (readonly [string, JsonTemplate])[] }

const PLACE = /\$\{(env|file):([^}]+)\}|\{([a-z_]+(?:\.[^{}.?\s]+)*)(\?)?\}/g
const NAMES = new Set([
  ...['event_id', 'org_ref', 'user_id', 'job_id', 'scheduled_time', 'idempotency_key'],
  ...['args', 'credential', 'hold_id', 'booking_number'],
])

export function textTemplate(text: string, sources: SecretSources): TextTemplate {
  const parts: Part[] = []
  let end = 0
  for (const match of text.matchAll(PLACE)) {
    const [whole, source, name, path, optional] = match
    if (match.index > end) parts.push(text.slice(end, match.index))
    end = match.index + whole.length
    if (path === undefined) parts.push(secretFrom(source as string, name as string, sources))
    else {
      const [first = ''] = path.split('.')
      if (!NAMES.has(first) || (first !== 'args' && path !== first)) {
        sources.problem(
          `there is no {${path}}; expected one of ${[...NAMES].join(', ')}, args.<name>`,
        )
      }
      parts.push({ path, isOptional: optional !== undefined })
    }
  }
  if (end < text.length) parts.push(text.slice(end))
  return parts
}

export function jsonTemplate(written: unknown, sources: SecretSources): JsonTemplate {
  if (typeof written === 'string') return { text: textTemplate(written, sources) }
  if (Array.isArray(written)) return { list: written.map((item) => jsonTemplate(item, sources)) }
  if (isPlainObject(written)) {
    const entries = Object.entries(written)
    return { map: entries.map(([key, item]) => [key, jsonTemplate(item, sources)] as const) }
  }
  if (written === null || typeof written === 'boolean' || Number.isFinite(written)) {
    return written as null | boolean | number
  }
  sources.problem('expected texts, numbers, true, false, null, lists and maps')
  return null
}

/** `encode` is applied to what is filled in, not to the template's own text. */
export function fillText(
  template: TextTemplate,
  scope: Scope,
  encode: (text: string) => string = (text) => text,
): string {
  return template
    .map((part) => {
      if (typeof part === 'string') return part
      const value = part instanceof Secret ? part.reveal() : valueFor(part, scope)
      return value === undefined ? '' : encode(asText(value))
    })
    .join('')
}

/** Undefined for a text that is one optional place with nothing to fill it: the field is left out. */
export function fillJson(template: JsonTemplate, scope: Scope): Json | undefined {
  if (typeof template !== 'object' || template === null) return template
  if ('list' in template) {
    return template.list.map((item) => fillJson(item, scope)).filter((item) => item !== undefined)
  }
  if ('map' in template) {
    const filled = template.map.map(([key, item]) => [key, fillJson(item, scope)] as const)
    return Object.fromEntries(filled.filter(([, value]) => value !== undefined)) as Json
  }
  const [only, ...rest] = template.text
  // A place by itself keeps the kind of its value: a number stays a number.
  if (only !== undefined && rest.length === 0 && typeof only === 'object') {
    return only instanceof Secret ? only.reveal() : valueFor(only, scope)
  }
  return fillText(template.text, scope)
}

/** The secrets in a template. */
export function secretsIn(template: JsonTemplate): Secret[] {
  if (typeof template !== 'object' || template === null) return []
  if ('text' in template) return secretsInText(template.text)
  if ('list' in template) return template.list.flatMap(secretsIn)
  return template.map.flatMap(([, item]) => secretsIn(item))
}

export function secretsInText(template: TextTemplate): Secret[] {
  return template.filter((part) => part instanceof Secret)
}

function valueFor({ path, isOptional }: Placeholder, scope: Scope): Json | undefined {
  const value = path === 'credential' ? scope.credential?.reveal() : jsonAt(scope, path)
  if (value !== undefined && value !== null) return value as Json
  if (isOptional) return undefined
  throw Unfillable.nothingFor(path)
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function secretFrom(source: string, name: string, { env, folder, problem }: SecretSources): Secret {
  if (env === null) return new Secret('')
  if (source === 'env') {
    const value = env[name]
    if (value === undefined || value === '') {
      problem(`the environment has no ${name}; set it before the start`)
    }
    return new Secret(value ?? '')
  }
  try {
    return new Secret(readFileSync(resolve(folder, name), 'utf8').trimEnd())
  } catch (error) {
    problem(
      `cannot read the file ${name} (${(error as NodeJS.ErrnoException).code}); check its path and rights`,
    )
    return new Secret('')
  }
}
