import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connect, type NodeClient, type RegistrationRecord, type WireEvent } from '@fairlead/client'
import {
  type BookingProvider,
  type BookingRules,
  type Seen,
  startBookingProvider,
} from '@fairlead/testkit/booking-provider'
import { SITE_KEY } from './rig.ts'

export interface Budget {
  readonly max_concurrency: number
  readonly max_rps: number
  readonly burst: number
  readonly min_spacing_ms: number
}

/** A booking site, and how it is described to Fairlead. */
export interface SitePlan {
  readonly rules: Partial<BookingRules>
  readonly row: (url: string) => object
  readonly budget: Budget
}

export interface Person {
  readonly provider: string
  readonly org: string
  readonly event: string
  readonly user: string
}

/** A call that books, as its worker told; not sent at all where the time is null. */
export interface Send {
  readonly jobId: string
  readonly attempt: number
  readonly sentAt: number | null
}

/** A time in which a worker stood still. */
interface Stall {
  readonly from: number
  readonly to: number
}

/** A line of a worker. */
type Said =
  | { readonly type: 'sending' }
  | ({ readonly type: 'attemptEnded' } & Send)
  | ({ readonly type: 'stalled' } & Stall)

/** What a worker does beside its work; see signup-process.mjs. */
export interface WorkerOptions {
  readonly providerId?: string
  readonly platforms?: readonly string[]
  readonly diesAt?: 'held' | 'answered' | 'charged'
  readonly charges?: string
}

const PATIENCE_MS = 120_000

/** `fairlead serve` on a file, booking sites and signup workers, each in a process of its own. */
export class OpeningRig {
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-opening-'))
  /** What the engine told, from the start. */
  readonly events: WireEvent[] = []
  /** Attempts, as far as their workers lived to tell. */
  readonly sends: (Send & { readonly pid: number })[] = []
  readonly stalls: (Stall & { readonly pid: number })[] = []
  readonly people = new Map<string, Person>()
  /** Asked whenever a worker is about to send: true kills it on the spot, and another is started. */
  killsAt: (sending: number) => boolean = () => false
  kills = 0
  #sites = new Map<string, BookingProvider>()
  #providers = ''
  #server: ChildProcess | null = null
  #port = 0
  #client: NodeClient | null = null
  readonly #workers = new Set<ChildProcess>()
  readonly #waiting = new Set<() => void>()
  /** Calls that were about to go out. */
  sending = 0

  /** Starts the sites and the server. */
  static async open(sites: Readonly<Record<string, SitePlan>>): Promise<OpeningRig> {
    const rig = new OpeningRig()
    const rows = await Promise.all(
      Object.entries(sites).map(async ([name, { rules, row, budget }]) => {
        const site = await startBookingProvider({ token: SITE_KEY, ...rules })
        rig.#sites.set(name, site)
        return [name, { ...row(site.url), ...budget }] as const
      }),
    )
    rig.#providers = JSON.stringify({ providers: Object.fromEntries(rows) })
    writeFileSync(join(rig.folder, 'providers.yaml'), rig.#providers)
    await rig.#serve()
    await rig.#follow()
    return rig
  }

  get client(): NodeClient {
    if (this.#client === null) throw new Error('the rig is not open')
    return this.#client
  }

  /** Starts workers, and resolves when all of them are connected. */
  async startWorkers(...workers: readonly WorkerOptions[]): Promise<void> {
    const due = this.#connected() + workers.length
    for (const options of workers) this.#startWorker(options)
    await this.until(() => this.#connected() >= due, `${workers.length} workers`)
  }

  /** Everyone asks for a place, in this order; gives the jobs. */
  async schedule(people: readonly Person[], opensAt: number): Promise<string[]> {
    const jobs: string[] = []
    for (const person of people) {
      const { task_id } = await this.client.schedule({
        ...{ provider: person.provider, org_ref: person.org, event_id: person.event },
        ...{ user_id: person.user, opens_at: opensAt },
      })
      this.people.set(task_id, person)
      jobs.push(task_id)
    }
    return jobs
  }

  /** Resolves when all of these have ended. */
  allEnded(jobs: readonly string[]): Promise<void> {
    return this.until(() => {
      const ended = new Set(this.events.flatMap((one) => (ENDS.has(one.type) ? [jobOf(one)] : [])))
      return jobs.every((job) => ended.has(job))
    }, 'the end of all registrations')
  }

  /** What became of everybody, by job. */
  async records(): Promise<Map<string, RegistrationRecord>> {
    const found = new Map<string, RegistrationRecord>()
    for await (const one of this.client.listRegistrations({ limit: 1_000 })) {
      found.set(one.task_id, one)
    }
    return found
  }

  async seen(site: string): Promise<Seen> {
    const known = this.#sites.get(site)
    if (known === undefined) throw new Error(`there is no site ${site}`)
    return known.seen()
  }

  /** SIGKILL in the middle of what it does, and another one on the same file and port. */
  async killServer(): Promise<void> {
    const server = this.#server
    if (server === null) throw new Error('the rig is not open')
    server.kill('SIGKILL')
    await once(server, 'exit')
    await this.#serve()
  }

  /** Resolves when it is true; it is asked after every event and every line of a worker. */
  async until(isTrue: () => boolean, what: string): Promise<void> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#tell()
    }, PATIENCE_MS)
    while (!isTrue() && !isLate) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
    clearTimeout(timer)
    if (isLate) throw new Error(`${what}: not within ${PATIENCE_MS} ms`)
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) worker.kill('SIGKILL')
    await this.#client?.close()
    const server = this.#server
    if (server?.kill('SIGKILL') === true) await once(server, 'exit')
    await Promise.all([...this.#sites.values()].map((site) => site.stop()))
    rmSync(this.folder, { recursive: true })
  }

  async #serve(): Promise<void> {
    const bin = fileURLToPath(new URL('../../fairlead/bin/fairlead.mjs', import.meta.url))
    const flags = ['--port', String(this.#port), '--log-level', 'silent']
    const child = spawn(process.execPath, [bin, 'serve', ...flags], {
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, FAIRLEAD_SIGNUP_PROVIDERS: 'providers.yaml' },
    })
    this.#server = child
    for await (const line of createInterface({ input: child.stderr })) {
      const [, port] = /serves http:\S+:(\d+) on/.exec(line) ?? []
      if (port === undefined) continue
      this.#port = Number(port)
      child.stderr.resume()
      return
    }
    throw new Error('the server ended before it listened')
  }

  async #follow(): Promise<void> {
    this.#client = connect(`http://127.0.0.1:${this.#port}`)
    const events = this.#client.events({ afterSeq: 0 })
    await events.ready()
    void (async () => {
      for await (const event of events) {
        this.events.push(event)
        this.#tell()
      }
    })().catch(() => {})
  }

  #startWorker(options: WorkerOptions): void {
    const program = fileURLToPath(new URL('signup-process.mjs', import.meta.url))
    const url = `ws://127.0.0.1:${this.#port}/ws`
    const args = [program, url, this.#providers, JSON.stringify(options)]
    const child = spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, SITE_KEY },
    })
    this.#workers.add(child)
    void once(child, 'exit').then(() => {
      this.#workers.delete(child)
      this.#tell()
    })
    createInterface({ input: child.stdout }).on('line', (line) => this.#heard(child, line, options))
  }

  /** How many workers live. */
  get workers(): number {
    return this.#workers.size
  }

  #heard(child: ChildProcess, line: string, options: WorkerOptions): void {
    const said = JSON.parse(line) as Said
    const pid = child.pid ?? 0
    if (said.type === 'stalled') this.stalls.push({ ...said, pid })
    if (said.type === 'attemptEnded') this.sends.push({ ...said, pid })
    if (said.type === 'sending' && this.killsAt(++this.sending)) {
      this.kills++
      child.kill('SIGKILL')
      this.#startWorker(options)
    }
    this.#tell()
  }

  #connected(): number {
    return this.events.filter(({ type }) => type === 'workerConnected').length
  }

  #tell(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

export function jobOf(event: WireEvent): string {
  return 'jobId' in event ? event.jobId : ''
}

const ENDS: ReadonlySet<string> = new Set([
  'jobCompleted',
  'jobFailed',
  'jobExpired',
  'jobCanceled',
])
