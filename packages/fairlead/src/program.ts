import { readFileSync } from 'node:fs'
import { Command as Program } from 'commander'
import type { Command, Option } from './command.ts'
import { COMMANDS, GROUPS } from './commands/index.ts'
import { EXIT, EXIT_MEANS } from './exit-codes.ts'
import { flowed, wrapped } from './terminal/wrapped.ts'

/** What the parser found: the command, and what was written behind it. */
export interface Parsed {
  readonly command: Command<never>
  readonly args: readonly string[]
  readonly flags: Readonly<Record<string, unknown>>
}

const COMMON: Readonly<Record<'all' | 'file' | 'server', readonly Option[]>> = {
  all: [{ flags: '--json', text: 'print JSON instead of text' }],
  file: [
    { flags: '--config <file>', text: 'settings file (fairlead.yaml, if there is one)' },
    { flags: '--set <setting=value>', text: 'any setting, over file and environment', many: true },
  ],
  server: [
    { flags: '--url <url>', text: 'server to talk to (FAIRLEAD_URL, http://127.0.0.1:7433)' },
    { flags: '--token <token>', text: 'token to send; FAIRLEAD_TOKEN keeps it off the screen' },
  ],
}

/** The whole command line as a tree; `found` hears of the command that was typed. */
export function buildProgram(found: (parsed: Parsed) => Promise<void>): Program {
  // Some commands stand under another one: its options end where theirs begin.
  const program = new Program('fairlead')
    .enablePositionalOptions()
    .description('A durable, fair dispatcher for scarce and rate-limited providers.')
    .version(ownVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .commandsGroup(OTHER)
    .helpCommand('help [command]', 'Show the help of a command.')
    // The usage of a command stands in its own help; here it would leave no room for the summary.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText('after', `\n${wrapped(`${EACH_HELP}\n\n${exitCodes()}`)}`)
  for (const spec of COMMANDS) add(program, spec, found)
  for (const group of [program, ...program.commands]) {
    if (group.commands.length === 0) continue
    const name = group === program ? 'fairlead' : `fairlead ${group.name()}`
    const names = group.commands.map((command) => command.name()).join(', ')
    group.showHelpAfterError(wrapped(`Commands: ${names}\n${name} --help explains them.`))
  }
  return program
}

const EACH_HELP = 'fairlead <command> --help shows the options of a command, with examples.'

/** The exit codes, a line each. */
export function exitCodes(): string {
  const lines = Object.entries(EXIT).map(
    ([name, code]) => `  ${code}  ${EXIT_MEANS[name as keyof typeof EXIT]}`,
  )
  return `Exit codes:\n${lines.join('\n')}`
}

function add(
  program: Program,
  spec: Command<never>,
  found: (parsed: Parsed) => Promise<void>,
): void {
  const words = spec.name.split(' ')
  const name = words.pop() as string
  const parent = words.reduce(groupOf, program)
  const own = parent.command(name).description(spec.summary)
  if (parent === program) own.helpGroup(headingOf(spec.name))
  if (spec.details !== undefined) own.addHelpText('after', `\n${wrapped(flowed(spec.details))}`)
  for (const { name: argument, text } of spec.args ?? []) own.argument(argument, text)
  for (const option of spec.options ?? []) addOption(own, option)
  own.optionsGroup('Common options:')
  for (const kind of ['server', 'file', 'all'] as const) {
    const isTaken = kind === 'all' || spec.needs === kind || spec.needs === 'server'
    if (isTaken) for (const option of COMMON[kind]) addOption(own, option)
  }
  own.helpOption('-h, --help', 'show this help')
  own.addHelpText('after', `\n${examples(spec)}`)
  const options = own.options.map(({ long }) => long).join(', ')
  own.showHelpAfterError(
    wrapped(
      `Usage: fairlead ${spec.name} ${own.usage()}\nOptions: ${options}\nfairlead ${spec.name} --help explains them.`,
    ),
  )
  own.action((...given: unknown[]) => {
    const count = spec.args?.length ?? 0
    // The last argument may be a list.
    const args = given
      .slice(0, count)
      .flat()
      .filter((arg) => arg !== undefined) as string[]
    return found({ command: spec, args, flags: own.opts() })
  })
}

/** The command that others stand under: `jobs` of `jobs cancel`. */
function groupOf(parent: Program, word: string): Program {
  const known = parent.commands.find((command) => command.name() === word)
  if (known !== undefined) return known.enablePositionalOptions()
  return parent
    .command(word)
    .description(GROUPS[word]?.summary ?? '')
    .helpGroup(headingOf(word))
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
}

const OTHER = 'More:'

const HEADINGS: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['Try it:', ['demo']],
  ['Jobs:', ['enqueue', 'jobs', 'explain', 'queues', 'schedules', 'outbox']],
  ['Workers:', ['worker', 'providers', 'keys']],
  ['Server:', ['serve', 'top', 'policy', 'token', 'doctor']],
  ['Store:', ['backup', 'restore', 'log']],
  ['Limits:', ['limits']],
  ['Sign-ups:', ['signup', 'sessions', 'registrations']],
  ['Audit:', ['audit']],
  ['Fund:', ['attest', 'stake', 'unstake', 'balance', 'payout', 'settle']],
]

function headingOf(name: string): string {
  const word = name.split(' ')[0] as string
  return HEADINGS.find(([, names]) => names.includes(word))?.[0] ?? OTHER
}

function addOption(own: Program, { flags, text, default: value, many = false }: Option): void {
  if (!many) own.option(flags, text, value)
  else {
    const gather = (next: string, before?: string[]): string[] => [...(before ?? []), next]
    own.option(flags, text, gather)
  }
}

function examples({ examples: given }: Command<never>): string {
  const lines = given.map(([line, text]) => `  ${line}\n      ${text}`)
  return `Examples:\n${lines.join('\n')}`
}

function ownVersion(): string {
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
