import type { NodeClient } from '@fairlead/client'
import type { Config } from './config/load-config.ts'
import type { Lines, Terminal } from './terminal/terminal.ts'

/** One command: what it is called, what it takes, what it does. */
export interface Command<Flags = object> {
  /** As it is typed: `jobs cancel`. */
  readonly name: string
  readonly summary: string
  /** What the summary has no room for; shown by `--help`. */
  readonly details?: string
  readonly args?: readonly Argument[]
  readonly options?: readonly Option[]
  /** `server`: it calls one, and takes `--url` and `--token`. `file`: it takes settings. */
  readonly needs?: 'server' | 'file'
  /** It tells the warnings of the configuration itself. */
  readonly tellsWarnings?: boolean
  readonly examples: readonly Example[]
  /** Does it, and gives the exit code. Heavy modules are imported in here: `--help` needs none. */
  readonly run: (call: Call<Flags>) => Promise<number>
}

export interface Argument {
  /** `<id>`, or `[id]` where it may be left out; the last one may be a list: `<files...>`. */
  readonly name: string
  readonly text: string
}

export interface Option {
  /** As in `--limit <n>`. */
  readonly flags: string
  readonly text: string
  readonly default?: string
  /** May be given again and again; gives a list. */
  readonly many?: boolean
}

export type Example = readonly [line: string, text: string]

/** One use of a command. */
export interface Call<Flags> {
  readonly args: readonly string[]
  readonly flags: Flags
  readonly terminal: Terminal
  /** `--json` was given. */
  readonly isJson: boolean
  /** The value as JSON if that was asked for, else the text. */
  readonly print: (value: unknown, text: Lines) => void
  /** Tells what the result does not say, on standard error: a line, or `{"warning": …}` with `--json`. */
  readonly warn: (text: string) => void
  /** Flags over environment over file; refused with all problems. */
  readonly config: (named?: NamedFlags) => Promise<Config>
  /** A client of the server that is configured; closed when the command ends. */
  readonly client: () => Promise<NodeClient>
}

/** Flags that stand for one setting each, by its path. */
export type NamedFlags = Readonly<
  Record<string, { readonly flag: string; readonly raw: string | undefined }>
>

export function command<Flags = object>(spec: Command<Flags>): Command<never> {
  return spec as Command<never>
}
