import type { Option } from '../command.ts'

/** The flags that hold a token to a part of what its role may. */
export interface ScopeFlags {
  readonly kinds?: string
  readonly models?: string
  readonly platforms?: string
  readonly limits?: string
  readonly readOnly?: boolean
}

export const SCOPE_OPTIONS: readonly Option[] = [
  { flags: '--kinds <list>', text: 'kinds of jobs, as in ai,task; * is all' },
  { flags: '--models <list>', text: 'models and task names; llama* is all that begin with llama' },
  { flags: '--platforms <list>', text: 'booking platforms, in the same way' },
  { flags: '--limits <list>', text: 'keys of limits, in the same way' },
  { flags: '--read-only', text: 'it changes nothing' },
]

export const SCOPE_DETAILS =
  'Lists are separated by commas; each entry is a name, or the beginning of names with a * behind it. A list that is left out restricts nothing, with one exception: the token of a provider gets registrations only with --kinds registration and --platforms.'

/** The fields of a scope that were given. */
export function readScopeFlags(
  flags: ScopeFlags,
): Readonly<Record<string, readonly string[] | boolean>> {
  const { kinds, models, platforms, limits, readOnly } = flags
  const lists = Object.entries({ kinds, models, platforms, limits })
  return {
    ...Object.fromEntries(
      lists.flatMap(([list, text]) => (text === undefined ? [] : [[list, patternsOf(text)]])),
    ),
    ...(readOnly === undefined ? {} : { readOnly }),
  }
}

function patternsOf(text: string): readonly string[] {
  return text.split(',').map((pattern) => pattern.trim())
}
