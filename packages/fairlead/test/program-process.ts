import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface ProgramOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** All of its standard input; left out, that stays open for `hears`. */
  readonly input?: string
}

/** Another process, of which one can wait for what it says. */
export class ProgramProcess {
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  #out = ''
  #err = ''
  readonly #waiting = new Set<() => void>()

  constructor(
    [program = '', ...args]: readonly string[],
    { cwd, env = {}, input }: ProgramOptions = {},
  ) {
    this.#child = spawn(program, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...withoutOurs(process.env), NO_COLOR: '1', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const { stdin, stdout, stderr } = this.#child
    stdin?.on('error', () => {})
    if (input !== undefined) stdin?.end(input)
    stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text
      this.#tell()
    })
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#err += text
      this.#tell()
    })
    this.ended = once(this.#child, 'close').then(([code]) => {
      this.#tell()
      return { code: code as number | null, out: this.#out, err: this.#err }
    })
  }

  /** Resolves when the process has said it, on either stream; fails if it ends without. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#out) ?? pattern.exec(this.#err)
      if (found !== null) return found
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`it ended without saying ${pattern}:\n${this.#out}${this.#err}`)
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  /** Writes to its standard input. */
  hears(text: string): void {
    this.#child.stdin?.write(text)
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  #tell(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

/** The environment without settings of whoever runs the tests. */
export function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('FAIRLEAD_')))
}
