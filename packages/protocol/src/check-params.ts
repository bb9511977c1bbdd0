import { FairleadError } from '@fairlead/core'
import type { z } from 'zod'
import { PROBLEMS_MAX } from './wire/list.ts'

/** The params of a call as its schema has them; `InvalidParams` that names every wrong field (RPC-5). */
export function checkParams<Params extends z.ZodType>(
  schema: Params,
  written: unknown,
): z.output<Params> {
  const checked = schema.safeParse(written)
  if (checked.success) return checked.data
  const problems = checked.error.issues
    .slice(0, PROBLEMS_MAX)
    .flatMap((issue) => problemsOf(issue, schema))
    .slice(0, PROBLEMS_MAX)
  const [first] = problems
  throw new FairleadError(
    'InvalidParams',
    problems.map(({ field, expected }) => `${field}: ${expected}`).join('; '),
    { field: first?.field ?? 'params', problems },
  )
}

interface Problem {
  readonly field: string
  readonly expected: string
}

function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType): Problem[] {
  const field = issue.path.length === 0 ? 'params' : issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, PROBLEMS_MAX).map((key) => ({
      field: shortened(issue.path.length === 0 ? key : `${field}.${key}`),
      expected: `there is no such field${known(issue.path.length === 0 ? schema : null)}`,
    }))
  }
  return [{ field: shortened(field), expected: messageOf(issue) }]
}

function messageOf(issue: z.core.$ZodIssue): string {
  const text = issue.message.replace(/^(?:Invalid input|Invalid option): /, '')
  return shortened(text.replace(/^Too (?:big|small): /, ''), 200)
}

function known(schema: z.ZodType | null): string {
  const shape = (schema as { shape?: object } | null)?.shape
  if (shape === undefined) return ''
  const names = Object.keys(shape)
  return names.length === 0 ? '; it takes none' : `; expected only ${names.join(', ')}`
}

/** The name of an unknown field is the caller's own text, and may be of any length. */
function shortened(text: string, max = 64): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}
