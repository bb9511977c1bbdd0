import { readFileSync } from 'node:fs'
import { FairleadError } from '@fairlead/core'
import { Command, CommanderError } from 'commander'
import { conformance } from './commands/conformance.ts'
import { demo } from './commands/demo.ts'
import { EXIT, processTerminal, type Terminal } from './terminal.ts'

/** Runs the command line and gives the exit code; it never ends the process itself. */
export async function main(
  args: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> {
  let code: number = EXIT.ok
  const finish = (exit: number): void => {
    code = exit
  }
  const program = new Command('fairlead')
    .description('A durable, fair dispatcher for scarce and rate-limited providers.')
    .version(ownVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .showHelpAfterError('(fairlead --help shows what there is)')
  for (const add of [demo, conformance]) add(program, terminal, finish)
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.misuse
    if (error instanceof FairleadError) {
      terminal.note(`fairlead: ${error.message}`)
      return error.code === 'InvalidParams' ? EXIT.misuse : EXIT.failed
    }
    // Not ours to explain: a full disk, a broken pipe, a defect. One line for people, no stack.
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EPIPE') terminal.note(`fairlead: ${message}`)
    return EXIT.failed
  }
}

function ownVersion(): string {
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
