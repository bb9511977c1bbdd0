import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Report } from '../bench.ts'
import type { ChildInput } from './child.ts'
import { BENCH } from './peer.ts'
import type { Figures, ScenarioName, Sizes } from './scenarios.ts'
import { installPeers } from './servers/install-peers.ts'
import { Servers } from './servers/servers.ts'
import { SUBJECTS, type SubjectName, type WrittenPolicy } from './subject.ts'

/** V8 forgets code that was not used for some collections of garbage: those before a drain, to measure memory, are no rest. */
const FLAGS = ['--expose-gc', '--no-flush-bytecode']

/** A process that takes longer than this is stuck. */
const LONGEST_MS = 15 * 60_000

/** One of those that take turns. */
export interface Entrant {
  /** As the tables show it. */
  readonly name: string
  readonly subject: SubjectName
  /** For Fairlead: what differs from its defaults. */
  readonly policy?: WrittenPolicy
}

/** Measures subjects in turn, each time in a fresh process and on a fresh server. */
export class Measurer {
  readonly #report: Report
  readonly #servers = new Servers()
  /** Peers that could not be measured, and are not tried again. */
  readonly #missing = new Set<SubjectName>()
  #child: ChildProcess | null = null
  #isInterrupted = false

  constructor(report: Report, subjects: readonly SubjectName[]) {
    this.#report = report
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        this.#isInterrupted = true
        void this.close().then(() => process.exit(130))
      })
    }
    const peers = subjects.filter((name) => SUBJECTS[name].isPeer)
    const problem = peers.length === 0 ? null : installPeers(report.progress)
    if (problem !== null) for (const name of peers) this.#leaveOut(name, problem)
  }

  /**
   * Every entrant once, then all of them again: whatever speeds the machine up or slows it down for a
   * while then meets all of them. Gives the figures of those that could be measured, by name.
   */
  async inTurns(options: {
    readonly scenario: ScenarioName
    readonly entrants: readonly Entrant[]
    readonly repeats: number
    readonly sizes: Sizes
    readonly what: string
  }): Promise<Map<string, Figures[]>> {
    const { scenario, entrants, repeats, sizes, what } = options
    const figures = new Map<string, Figures[]>(entrants.map(({ name }) => [name, []]))
    for (let i = 1; i <= repeats; i++) {
      for (const entrant of entrants) {
        const { name, subject } = entrant
        if (this.#missing.has(subject)) continue
        this.#report.progress(`${what}, ${i} of ${repeats}: ${name}`)
        try {
          figures.get(name)?.push(await this.#measureOrRetry(entrant, scenario, sizes))
        } catch (error) {
          if (!SUBJECTS[subject].isPeer) throw error
          this.#leaveOut(subject, (error as Error).message)
        }
      }
    }
    for (const { name, subject } of entrants) if (this.#missing.has(subject)) figures.delete(name)
    return figures
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#servers.close()
  }

  /** Once more, for a machine may stall for longer than a subject can bear. */
  async #measureOrRetry(entrant: Entrant, scenario: ScenarioName, sizes: Sizes): Promise<Figures> {
    try {
      return await this.#measure(entrant, scenario, sizes)
    } catch (error) {
      this.#report.note(`${entrant.name} is tried once more: ${(error as Error).message}`)
      return this.#measure(entrant, scenario, sizes)
    }
  }

  #measure({ subject, policy = {} }: Entrant, scenario: ScenarioName, sizes: Sizes) {
    return this.#servers.use(SUBJECTS[subject].server, async (place) => {
      const input: ChildInput = { place, sizes, policy }
      return (await this.#runChild([subject, scenario, JSON.stringify(input)])) as Figures
    })
  }

  #runChild(args: readonly string[]): Promise<unknown> {
    const file = join(BENCH, 'dist', 'queue', 'child.js')
    const flags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '')
    const child = spawn(process.execPath, [...FLAGS, ...flags, file, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    })
    this.#child = child
    let printed = ''
    let complaints = ''
    child.stdout?.on('data', (text) => (printed += text))
    child.stderr?.on('data', (text) => (complaints += text))
    return new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, signal) => {
        this.#child = null
        if (this.#isInterrupted) return
        if (code === 0) resolve(JSON.parse(printed))
        else reject(new Error(`it ended with ${code ?? signal}: ${errorIn(complaints)}`))
      })
    })
  }

  #leaveOut(name: SubjectName, why: string): void {
    this.#missing.add(name)
    this.#report.note(`${name} is left out: ${why}`)
  }
}

/** The line of a stack trace that says what happened. */
function errorIn(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.find((line) => /^\w*Error\b|^Error/.test(line)) ?? lines.at(-1) ?? 'no reason given'
}
