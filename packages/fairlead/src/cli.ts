import { CommanderError } from 'commander'
import type { Call, NamedFlags } from './command.ts'
import { EXIT, exitOf } from './exit-codes.ts'
import { buildProgram, type Parsed } from './program.ts'
import { processTerminal, type Terminal } from './terminal/terminal.ts'

/** Somebody waits at a terminal: tell soon that no server answers. */
const PATIENCE_MS = 3_000

/** Runs the command line and gives the exit code; it never ends the process itself. */
export async function main(
  args: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> {
  let code: number = EXIT.ok
  const program = buildProgram(async (parsed) => {
    code = await runCommand(parsed, terminal)
  })
  const speak = {
    writeOut: (text: string) => terminal.out(text.trimEnd().split('\n')),
    writeErr: (text: string) => terminal.note(text.trimEnd().split('\n')),
  }
  for (const each of everyCommand(program)) each.exitOverride().configureOutput(speak)
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    return explain(error, terminal, args.includes('--json'))
  }
}

function everyCommand(program: ReturnType<typeof buildProgram>): (typeof program)[] {
  return [program, ...program.commands.flatMap((one) => everyCommand(one as typeof program))]
}

async function runCommand({ command, args, flags }: Parsed, terminal: Terminal): Promise<number> {
  const isJson = flags['json'] === true
  const atEnd: (() => Promise<void>)[] = []
  // A command may load its configuration more than once.
  const told = new Set<string>()
  const warn = (text: string): void => {
    if (!told.has(text)) terminal.note(isJson ? warningJson(text) : text)
    told.add(text)
  }
  const config = async (named: NamedFlags = {}) => {
    const { loadConfig } = await import('./config/load-config.ts')
    const loaded = loadConfig({
      env: process.env,
      cwd: process.cwd(),
      file: flags['config'] as string | undefined,
      sets: (flags['set'] ?? []) as string[],
      named: { ...serverFlags(flags), ...named },
    })
    if (command.tellsWarnings !== true) loaded.warnings.forEach(warn)
    return loaded
  }
  const call: Call<never> = {
    args,
    flags: flags as never,
    terminal,
    isJson,
    warn: (text) => terminal.note(isJson ? warningJson(text) : terminal.colors.dim(text)),
    print: (value, text) =>
      terminal.out(isJson ? JSON.stringify(value, null, 2).split('\n') : text),
    config,
    client: async () => {
      const { settings } = await config()
      const { connect } = await import('@fairlead/client')
      const { url, token } = settings.client
      const client = connect(url, { timeoutMs: PATIENCE_MS, ...(token === null ? {} : { token }) })
      atEnd.push(() => client.close())
      return client
    },
  }
  try {
    return await command.run(call)
  } finally {
    for (const end of atEnd) await end()
  }
}

function warningJson(text: string): string {
  return JSON.stringify({ warning: text })
}

function serverFlags(flags: Parsed['flags']): NamedFlags {
  return {
    'client.url': { flag: '--url', raw: flags['url'] as string | undefined },
    'client.token': { flag: '--token', raw: flags['token'] as string | undefined },
  }
}

/** Tells what went wrong in a line, no stack, for people or for programs; gives the exit code. */
async function explain(error: unknown, terminal: Terminal, isJson: boolean): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.misuse
  const { name, code, message, details, retryable } = error as Error & {
    readonly code?: string
    readonly details?: object
    readonly retryable?: boolean
  }
  if (name === 'FairleadError') {
    const advice = code === 'Unauthorized' ? '; here that is FAIRLEAD_TOKEN, or --token' : ''
    const shown = { error: { code, message: `${message}${advice}`, details, retryable } }
    const { messageLines } = await import('./terminal/lines-error.ts')
    const [first = '', ...rest] = messageLines(error as Error)
    terminal.note(isJson ? JSON.stringify(shown) : [`fairlead: ${first}${advice}`, ...rest])
    return exitOf({ code, retryable })
  }
  // Not ours to explain: a full disk, a broken pipe, a defect.
  if (code !== 'EPIPE') terminal.note(`fairlead: ${message}`)
  return EXIT.failed
}
