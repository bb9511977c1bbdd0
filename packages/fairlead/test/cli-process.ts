import { join } from 'node:path'
import { main } from '../dist/cli.js'
import { type Lines, palette, type Terminal } from '../dist/terminal/terminal.js'
import { type Ended, type ProgramOptions, ProgramProcess, withoutOurs } from './program-process.ts'

const BIN = join(import.meta.dirname, '..', 'bin', 'fairlead.mjs')

export interface CliOptions extends ProgramOptions {
  /** What the process takes from the modes of files that it makes. */
  readonly umask?: string
}

/** The command line as a user has it. */
export class CliProcess extends ProgramProcess {
  constructor(args: readonly string[], { umask, ...options }: CliOptions = {}) {
    const command = [process.execPath, BIN, ...args]
    const masked = ['sh', '-c', `umask ${umask}; exec "$@"`, 'sh', ...command]
    super(umask === undefined ? command : masked, options)
  }
}

/**
 * Runs a command to its end: in this process, as a start costs more than most commands. Standard input and a umask
 * need a process.
 */
export function fairlead(args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  if (options.input !== undefined || options.umask !== undefined) {
    return new CliProcess(args, { input: '', ...options }).ended
  }
  const ended = turn.then(() => runHere(args, options))
  turn = ended.then(
    () => undefined,
    () => undefined,
  )
  return ended
}

/** Commands in this process take turns: each has a folder and an environment of its own. */
let turn: Promise<void> = Promise.resolve()

async function runHere(args: readonly string[], { cwd, env }: CliOptions): Promise<Ended> {
  const before = { cwd: process.cwd(), env: process.env }
  if (cwd !== undefined) process.chdir(cwd)
  process.env = { ...withoutOurs(before.env), NO_COLOR: '1', ...env }
  const out: Uint8Array[] = []
  const err: Uint8Array[] = []
  try {
    const code = await main(args, terminalOf(out, err))
    return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }
  } finally {
    process.env = before.env
    process.chdir(before.cwd)
  }
}

/** A terminal as a program has it: no screen and no colours. */
function terminalOf(out: Uint8Array[], err: Uint8Array[]): Terminal {
  const { colors, drawn } = palette(false)
  const write = (to: Uint8Array[]) => (lines: Lines) => {
    for (const line of typeof lines === 'string' ? [lines] : lines) {
      to.push(Buffer.from(`${drawn(line)}\n`))
    }
  }
  return {
    out: write(out),
    raw: (bytes) => out.push(bytes),
    note: write(err),
    progress: () => {},
    drawn,
    colors,
    screen: null,
  }
}

export interface CliServer {
  readonly url: string
  readonly process: CliProcess
  stop(): Promise<Ended>
}

/** `fairlead serve` on a free port, once it listens. */
export function serve(folder: string, ...args: string[]): Promise<CliServer> {
  return serveWith(folder, {}, ...args)
}

/** The same with variables of the environment. */
export async function serveWith(
  folder: string,
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<CliServer> {
  const process = new CliProcess(['serve', '--port', '0', '--log-level', 'silent', ...args], {
    cwd: folder,
    env,
  })
  const [, url = ''] = await process.says(/serves (http:\S+) on/)
  return {
    url,
    process,
    stop: () => {
      process.kill('SIGTERM')
      return process.ended
    },
  }
}
