import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** How long one that crashed stays away. */
const AWAY_MS = 700

/** The providers of a demo, each in a process of its own that is started again when it crashes. */
export class ProviderProcesses<Provider extends { readonly name: string }> {
  readonly #program: string
  readonly #ordersOf: (provider: Provider) => object
  readonly #running = new Map<string, ChildProcess>()
  readonly #crashes = new Map<string, number>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isStopping = false

  constructor(options: {
    /** The module that each process runs. */
    readonly program: URL
    /** The line that it gets on its standard input. */
    readonly ordersOf: (provider: Provider) => object
  }) {
    this.#program = fileURLToPath(options.program)
    this.#ordersOf = options.ordersOf
  }

  /** How often each has crashed. */
  get crashes(): ReadonlyMap<string, number> {
    return this.#crashes
  }

  start(provider: Provider): void {
    const child = spawn(process.execPath, [this.#program], { stdio: ['pipe', 'ignore', 'inherit'] })
    child.stdin?.on('error', () => {})
    child.stdin?.write(`${JSON.stringify(this.#ordersOf(provider))}\n`)
    this.#running.set(provider.name, child)
    child.once('exit', (code) => {
      this.#running.delete(provider.name)
      if (this.#isStopping || code === 0) return
      this.#crashes.set(provider.name, (this.#crashes.get(provider.name) ?? 0) + 1)
      const timer = setTimeout(() => {
        this.#timers.delete(timer)
        this.start(provider)
      }, AWAY_MS)
      this.#timers.add(timer)
    })
  }

  /** Lets them finish what they have, and waits until they are gone. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#timers) clearTimeout(timer)
    const gone = [...this.#running.values()].map(
      (child) => new Promise<void>((resolve) => child.once('exit', () => resolve())),
    )
    for (const child of this.#running.values()) child.kill('SIGTERM')
    await Promise.all(gone)
  }
}
