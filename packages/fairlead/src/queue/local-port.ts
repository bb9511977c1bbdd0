import { Client, type Line, type LineListener, steadyClock } from '@fairlead/client'
import { type Clock, FairleadError, type Store } from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import { type InProcess, openInProcess } from '@fairlead/server'
import { openJobLogs } from '@fairlead/store/job-logs'
import { MemoryStore } from '@fairlead/store/memory'
import { openSqliteStore, type SqliteStore } from '@fairlead/store/sqlite'
import { keyPath, readSealKeys } from '../serve/seal-key.ts'
import { jobLogsPath } from '../storage/store-files.ts'
import type { QueuePort } from './port.ts'

/** A queue in this process, on a file that no other process has open. */
export async function openFilePort(path: string): Promise<QueuePort> {
  // First, because of a file that another process has nothing else is touched.
  const store = await openFile(path)
  try {
    // A store that a server had may have registrations. This queue takes none, and so makes no key.
    const sealKeys = readSealKeys(keyPath(path)) ?? []
    const jobLogs = openJobLogs(jobLogsPath(path))
    const engine = await openEngine({ store, sealKeys, jobLogs })
    return { ...(await portOn(engine, steadyClock)), workerIdFor: countedIds() }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** A queue in this process, on PostgreSQL. This process leads: another one that had it open is refused from then on. */
export async function openPostgresPort(url: string): Promise<QueuePort> {
  const { openPostgresStore } = await import('@fairlead/store/postgres')
  const store = await openPostgresStore({ url })
  try {
    const keys = readSealKeys(keyPath(url)) ?? []
    return await portOn(await openEngine({ store, sealKeys: keys }), steadyClock)
  } catch (error) {
    await store.close()
    throw error
  }
}

/** A queue that is gone when it is closed. */
export async function openMemoryPort(clock?: Clock): Promise<QueuePort> {
  const store: Store = new MemoryStore()
  if (clock === undefined) return portOn(await openEngine({ store }), steadyClock)
  // Time that is moved by hand need not stop for signs of life, which nobody reads.
  const never = Number.POSITIVE_INFINITY
  const engine = await openEngine({ store, clock, beatMs: never })
  return { ...(await portOn(engine, clock)), heartbeatMs: never }
}

/**
 * The same at each start: a worker that comes back says at once that it has nothing any more. So the jobs that a killed
 * process had need not wait until their worker counts as lost (WORKER-5).
 */
function countedIds(): (provider: string) => string {
  const counts = new Map<string, number>()
  return (provider) => {
    const count = (counts.get(provider) ?? 0) + 1
    counts.set(provider, count)
    return `local-${count}`
  }
}

async function openFile(path: string): Promise<SqliteStore> {
  try {
    return await openSqliteStore(path)
  } catch (error) {
    const isHeld = error instanceof FairleadError && error.details['reason'] === 'held'
    if (!isHeld) throw error
    throw new FairleadError(
      'StoreUnavailable',
      `${error.message}; to share the queue, run "fairlead serve --store ${path}" and open its URL in every process`,
      error.details,
      { cause: error },
    )
  }
}

async function portOn(engine: Engine, clock: Clock): Promise<QueuePort> {
  let listener: LineListener | null = null
  const server = await openInProcess({
    engine,
    logger: WARNINGS,
    notify: (method, params) => listener?.onNotification(method, params),
  })
  const client = new Client('in-process:', {}, (given) => {
    listener = given
    return new LocalLine(server, given)
  })
  return {
    client,
    leases: engine.leaseSource(),
    clock,
    close: async () => {
      await client.close()
      await engine.close()
    },
  }
}

/** The line to a server in the same process, which is never lost. */
class LocalLine implements Line {
  readonly #server: InProcess
  #end: () => void = () => {}
  isClosed = false

  constructor(server: InProcess, { onOpen }: LineListener) {
    this.#server = server
    const closed = new Promise<void>((resolve) => {
      this.#end = resolve
    })
    onOpen({ call: (method, params) => this.call(method, params), closed })
  }

  async open(): Promise<void> {}

  call(method: string, params: object): Promise<unknown> {
    if (!this.isClosed) return this.#server.call(method, params)
    return Promise.reject(
      new FairleadError('SchedulerClosed', 'the queue was closed; open it again'),
    )
  }

  hold(): () => void {
    return () => {}
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.#end()
    await this.#server.close()
  }
}

/** A defect is told where Node tells of such; all else that a server would log is the caller's to see. */
const WARNINGS = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (fields: object, text: string) => {
    const { err } = fields as { readonly err?: unknown }
    process.emitWarning(err instanceof Error ? err : `fairlead: ${text}`)
  },
}
