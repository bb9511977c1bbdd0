import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export interface Redis {
  readonly url: string
  readonly stop: () => Promise<void>
}

/**
 * A fresh Redis on a free port: as it comes, which is with snapshots now and then, or with its log
 * synced every second. Where none can be had, `REDIS_URL` is used as it is.
 */
export async function startRedis(options: {
  readonly folder: string
  readonly hasLog: boolean
}): Promise<Redis> {
  if (!hasRedisServer()) return givenRedis(options.hasLog)
  const port = await freePort()
  const log = options.hasLog ? ['--appendonly', 'yes', '--appendfsync', 'everysec'] : []
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', options.folder, ...log],
    { stdio: 'ignore' },
  )
  await answering(port, server)
  return { url: `redis://127.0.0.1:${port}`, stop: () => kill(server) }
}

let isLookedFor = false

/** On PATH; if not, Debian's is installed, where that is allowed. */
function hasRedisServer(): boolean {
  const isThere = () => spawnSync('redis-server', ['--version']).status === 0
  if (isThere() || isLookedFor) return isThere()
  isLookedFor = true
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false
  console.error('bench: installing redis-server (apt-get) …')
  spawnSync('apt-get', ['install', '-y', '-q', 'redis-server'], { stdio: ['ignore', 'ignore', 2] })
  return isThere()
}

function givenRedis(hasLog: boolean): Redis {
  const url = process.env['REDIS_URL']
  if (url === undefined) {
    throw new Error(
      'no redis-server on PATH; install Redis, or set REDIS_URL to one that may be used',
    )
  }
  if (hasLog) throw new Error('REDIS_URL is used as it is; for a log there must be a redis-server')
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

/** Its data is for nobody: there is no need for it to save them. */
async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill('SIGKILL')
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
