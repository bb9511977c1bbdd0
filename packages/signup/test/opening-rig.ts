import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { callerOf, type JobId } from '@fairlead/core'
import { type Engine, type EngineEvent, openEngine } from '@fairlead/engine'
import { type RunningServer, startServer } from '@fairlead/server'
import { MemoryStore } from '@fairlead/testkit'
import {
  type BookingProvider,
  type BookingRules,
  type Seen,
  startBookingProvider,
} from '@fairlead/testkit/booking-provider'
import { readProviders } from '../src/index.ts'
import { SITE_KEY } from './rig.ts'

export interface Budget {
  readonly max_concurrency: number
  readonly max_rps: number
  readonly burst: number
  readonly min_spacing_ms: number
}

interface Send {
  readonly jobId: JobId
  readonly sentAt: number
}

/** A line of a worker. */
type Said =
  | { readonly type: 'sending' }
  | { readonly type: 'attemptEnded'; readonly jobId: JobId; readonly sentAt: number | null }
  | { readonly type: 'stalled'; readonly from: number; readonly to: number }

/** One attempt as the engine issued it. */
export interface Issue {
  readonly jobId: JobId
  readonly at: number
}

/** A server, a booking site and several signup workers, each but the server in a process of its own. */
export class OpeningRig {
  readonly site: BookingProvider
  readonly engine: Engine
  readonly store: MemoryStore
  /** What the engine told, from the start. */
  readonly issues: Issue[] = []
  /** Calls that went out, as far as their workers lived to tell. */
  readonly sends: Send[] = []
  /** Times in which a worker stood still. */
  readonly stalls: { readonly from: number; readonly to: number }[] = []
  readonly users = new Map<JobId, string>()
  /** When the engine took each job in. */
  readonly queuedAt = new Map<JobId, number>()
  /** Asked whenever a worker is about to send: true kills it on the spot. */
  killsAt: (sending: number) => boolean = () => false
  kills = 0
  readonly #server: RunningServer
  readonly #providers: string
  readonly #workers = new Set<ChildProcess>()
  readonly #ended = new Set<JobId>()
  #sending = 0
  #connected = 0
  #tell: () => void = () => {}

  private constructor(parts: {
    readonly site: BookingProvider
    readonly engine: Engine
    readonly store: MemoryStore
    readonly server: RunningServer
    readonly providers: string
  }) {
    this.site = parts.site
    this.engine = parts.engine
    this.store = parts.store
    this.#server = parts.server
    this.#providers = parts.providers
  }

  static async open(given: {
    readonly rules: Partial<BookingRules>
    readonly row: (url: string) => object
    readonly budget: Budget
  }): Promise<OpeningRig> {
    const site = await startBookingProvider({ token: SITE_KEY, ...given.rules })
    const row = { ...given.row(site.url), ...given.budget }
    const providers = JSON.stringify({ providers: { site: row } })
    const { policySection } = readProviders(providers, { env: { SITE_KEY }, folder: '.' })
    const policy = { sessions: { platforms: policySection } }
    const store = new MemoryStore()
    const engine = await openEngine({ store, policy })
    const server = await startServer({
      engine,
      tokens: null,
      listen: { host: '127.0.0.1', port: 0 },
    })
    const rig = new OpeningRig({ site, engine, store, server, providers })
    await engine.onEvent((event) => rig.#note(event))
    return rig
  }

  /** Starts workers, and resolves when all of them are connected. */
  async startWorkers(count: number): Promise<void> {
    const due = this.#connected + count
    for (let i = 0; i < count; i++) this.#startWorker()
    await this.#until(() => this.#connected >= due)
  }

  /** Everyone asks for a place, in this order; gives the jobs. */
  async schedule(
    people: readonly { readonly org: string; readonly event: string; readonly user: string }[],
    opensAt: number,
  ): Promise<JobId[]> {
    const jobs: JobId[] = []
    for (const { org, event, user } of people) {
      const payload = {
        ...{ provider: 'site', org_ref: org, event_id: event, user_id: user },
        ...{ args: {}, scheduled_time: opensAt },
      }
      const by = { caller: callerOf(user) }
      const jobId = await this.engine.enqueue({ kind: 'registration', payload }, by)
      this.users.set(jobId, user)
      jobs.push(jobId)
    }
    return jobs
  }

  /** Resolves when all of these have ended. */
  async allEnded(jobs: readonly JobId[]): Promise<void> {
    await this.#until(() => jobs.every((job) => this.#ended.has(job)))
  }

  seen(): Promise<Seen> {
    return this.site.seen()
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) worker.kill('SIGKILL')
    await this.#server.close()
    await this.engine.close()
    await this.site.stop()
  }

  #startWorker(): void {
    const program = fileURLToPath(new URL('signup-process.mjs', import.meta.url))
    const url = `${this.#server.url.replace(/^http/, 'ws')}/ws`
    const child = spawn(process.execPath, [program, url, this.#providers], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, SITE_KEY },
    })
    this.#workers.add(child)
    void once(child, 'exit').then(() => this.#workers.delete(child))
    createInterface({ input: child.stdout }).on('line', (line) => this.#heard(child, line))
  }

  #heard(child: ChildProcess, line: string): void {
    const said = JSON.parse(line) as Said
    if (said.type === 'stalled') this.stalls.push(said)
    if (said.type === 'attemptEnded' && said.sentAt !== null) {
      this.sends.push({ jobId: said.jobId, sentAt: said.sentAt })
    }
    if (said.type !== 'sending' || !this.killsAt(++this.#sending)) return
    this.kills++
    child.kill('SIGKILL')
    this.#startWorker()
  }

  #note(event: EngineEvent): void {
    if (event.type === 'workerConnected') this.#connected++
    if (event.type === 'jobEnqueued') this.queuedAt.set(event.jobId, event.at)
    if (event.type === 'jobAssigned') this.issues.push({ jobId: event.jobId, at: event.at })
    if (ENDS.has(event.type) && 'jobId' in event) this.#ended.add(event.jobId as JobId)
    this.#tell()
  }

  async #until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve
      })
    }
  }
}

const ENDS: ReadonlySet<string> = new Set([
  'jobCompleted',
  'jobFailed',
  'jobExpired',
  'jobCanceled',
])
