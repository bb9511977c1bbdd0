import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient, type Worker } from '@fairlead/client'
import { encodeCbor } from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import {
  MeteredStore,
  type NewToken,
  type RunningServer,
  startServer,
  TokenFile,
} from '@fairlead/server'
import { openJobLogs } from '@fairlead/store/job-logs'
import { openSqliteStore } from '@fairlead/store/sqlite'

export const DIST = join(import.meta.dirname, '..', 'dist')

export interface ServedOptions {
  readonly basePath?: string
  readonly preset?: 'queue' | 'fund'
  readonly policy?: object
  readonly showsPayloads?: boolean
  /** Left out: everybody on this machine is an admin. */
  readonly tokens?: readonly NewToken[]
}

/** A server with the built page on a store on disk. It can be stopped, and started again on the same port. */
export class Served {
  readonly folder: string
  readonly tokens: readonly string[]
  readonly #options: ServedOptions
  readonly #tokenFile: TokenFile
  readonly #port: number
  readonly #workers: Worker[] = []
  #running: { readonly engine: Engine; readonly server: RunningServer } | null = null
  #client: NodeClient | null = null

  private constructor(options: ServedOptions, folder: string, port: number) {
    this.#options = options
    this.folder = folder
    this.#port = port
    this.#tokenFile = new TokenFile(join(folder, 'tokens.json'))
    this.tokens = (options.tokens ?? []).map((one) => this.#tokenFile.create(one).token)
  }

  static async open(options: ServedOptions = {}): Promise<Served> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-page-'))
    const served = new Served(options, folder, await freePort())
    await served.start()
    return served
  }

  /** With a slash at its end, as the page has it. */
  get url(): string {
    return `${this.#now.server.url}/`
  }

  get engine(): Engine {
    return this.#now.engine
  }

  /** With the first of the tokens. */
  get client(): NodeClient {
    const [token] = this.tokens
    this.#client ??= connect(this.#now.server.url, token === undefined ? {} : { token })
    return this.#client
  }

  async start(): Promise<void> {
    const { basePath, preset = 'queue', policy = {}, showsPayloads = true } = this.#options
    const path = join(this.folder, 'fairlead.db')
    const store = new MeteredStore(await openSqliteStore(path))
    const engine = await openEngine({
      store,
      policy,
      preset,
      jobLogs: openJobLogs(`${path}.job-logs`),
    })
    const server = await startServer({
      engine,
      store,
      listen: { host: '127.0.0.1', port: this.#port },
      tokens: this.tokens.length === 0 ? null : this.#tokenFile,
      dashboard: DIST,
      isAnnounced: false,
      showsPayloads,
      ...(basePath === undefined ? {} : { basePath }),
    })
    this.#running = { engine, server }
  }

  async stop(): Promise<void> {
    const { engine, server } = this.#now
    this.#running = null
    await server.close()
    await engine.close()
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop({ graceMs: 0 }).catch(() => {})))
    await this.#client?.close()
    if (this.#running !== null) await this.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Tasks by name: `echo` succeeds, `broken` fails for good, and `slow` runs until its signal fires. */
  work(providerId = 'provider:atlas', concurrency = 4): void {
    const worker = this.client.worker({
      providerId: providerId as `provider:${string}`,
      kinds: ['task', 'ai'],
      models: ['*'],
      concurrency,
      drainMs: null,
      onError: () => {},
      handler: async (job) => {
        const name = job.kind === 'task' ? job.payload.name : job.payload.model
        job.log(`begins with ${name}`)
        if (name === 'broken')
          throw Object.assign(new Error('the mail server is away'), { code: 'SMTP' })
        if (name === 'slow') {
          job.progress(40, 'page 4 of 10')
          await once(job.signal, 'abort')
        }
        return { content: 'made', of: name }
      },
    })
    this.#workers.push(worker)
    worker.closed.catch(() => undefined)
  }

  /** Books the first of each session, and tells everybody else that it is sold out. */
  book(seats: number): void {
    let left = seats
    const worker = this.client.worker({
      providerId: 'provider:signup',
      kinds: ['registration'],
      platforms: ['*'],
      concurrency: 4,
      drainMs: null,
      onError: () => {},
      handler: () => {
        if (left-- <= 0) throw Object.assign(new Error('sold out'), { code: 'sold_out' })
        return encodeCbor({ outcome: 'booked', booking_number: `B-${left}`, fee_status: 'none' })
      },
    })
    this.#workers.push(worker)
    worker.closed.catch(() => undefined)
  }

  async task(name: string, more: object = {}): Promise<string> {
    const request = { kind: 'task' as const, payload: { name, args: { width: 800 } }, ...more }
    return (await this.client.enqueue(request)).task_id
  }

  get #now(): { readonly engine: Engine; readonly server: RunningServer } {
    if (this.#running === null) throw new Error('the server is stopped')
    return this.#running
  }
}

/** The page has to find the server again, so the port is chosen before its first start. */
async function freePort(): Promise<number> {
  const probe = createServer()
  probe.listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}
