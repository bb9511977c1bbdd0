import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { aptInstall } from './apt-install.ts'

export interface Redis {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** What a Redis keeps: snapshots now and then, as it comes; a log synced every second; or nothing. */
export type Persistence = 'snapshots' | 'log' | 'none'

const FLAGS: Readonly<Record<Persistence, readonly string[]>> = {
  snapshots: [],
  log: ['--appendonly', 'yes', '--appendfsync', 'everysec'],
  none: ['--save', ''],
}

/**
 * A fresh Redis on a free port, or on one where another was before. Where none can be had, `REDIS_URL` is
 * used as it is.
 */
export async function startRedis(options: {
  readonly folder: string
  readonly keeps?: Persistence
  readonly port?: number
}): Promise<Redis> {
  const { folder, keeps = 'snapshots' } = options
  if (!hasRedisServer()) return givenRedis(keeps)
  const port = options.port ?? (await freePort())
  const server = await startServer(port, folder, FLAGS[keeps])
  // With a log it has to write what it has answered: a busy disk may keep that back for two seconds.
  const signal = keeps === 'log' ? 'SIGTERM' : 'SIGKILL'
  return { url: `redis://127.0.0.1:${port}`, stop: () => kill(server, signal) }
}

/** Three fresh nodes on loopback that form a cluster; gives the address of each. */
export async function startRedisCluster(folder: string): Promise<{
  readonly urls: readonly string[]
  readonly stop: () => Promise<void>
}> {
  if (!hasRedisServer()) throw new Error('no redis-server on PATH; install Redis')
  const ports = [await freePort(), await freePort(), await freePort()]
  const servers = await Promise.all(
    ports.map((port) =>
      startServer(port, folder, [
        ...FLAGS.none,
        ...['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`],
      ]),
    ),
  )
  const nodes = ports.map((port) => `127.0.0.1:${port}`)
  const made = spawnSync('redis-cli', ['--cluster', 'create', ...nodes, '--cluster-yes'], {
    encoding: 'utf8',
  })
  if (made.status !== 0) throw new Error(`no cluster: ${made.stdout}${made.stderr}`)
  const isWhole = (port: number): boolean =>
    spawnSync('redis-cli', ['-p', String(port), 'cluster', 'info'], {
      encoding: 'utf8',
    }).stdout.includes('cluster_state:ok')
  while (!ports.every(isWhole)) await pause(50)
  return {
    urls: ports.map((port) => `redis://127.0.0.1:${port}`),
    stop: async () => {
      await Promise.all(servers.map((server) => kill(server)))
    },
  }
}

async function startServer(
  port: number,
  folder: string,
  flags: readonly string[],
): Promise<ChildProcess> {
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...flags],
    { stdio: 'ignore' },
  )
  await answering(port, server)
  return server
}

let isLookedFor = false

/** On PATH; if not, Debian's is installed, where that is allowed. */
export function hasRedisServer(): boolean {
  const isThere = () => spawnSync('redis-server', ['--version']).status === 0
  if (isThere() || isLookedFor) return isThere()
  isLookedFor = true
  aptInstall('redis-server')
  return isThere()
}

function givenRedis(keeps: Persistence): Redis {
  const url = process.env['REDIS_URL']
  if (url === undefined) {
    throw new Error(
      'no redis-server on PATH; install Redis, or set REDIS_URL to one that may be used',
    )
  }
  if (keeps !== 'snapshots') {
    throw new Error(`REDIS_URL is used as it is; for ${keeps} there must be a redis-server`)
  }
  return { url, stop: async () => {} }
}

/** Once it answers; it may take a moment to listen. */
async function answering(port: number, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    if (await isAnswering(port)) return
    await pause(20)
  }
  throw new Error(`redis-server ended with ${server.exitCode} instead of listening`)
}

function isAnswering(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.once('data', (text) => {
      socket.destroy()
      resolve(text.toString().startsWith('+PONG'))
    })
    socket.once('error', () => resolve(false))
  })
}

/** Without a log its data is for nobody: there is no need for it to save them. */
async function kill(server: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill(signal)
  await once(server, 'exit')
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
