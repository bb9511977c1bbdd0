/**
 * The least that a durable queue over WebSockets does. Each message is written to a file and synced,
 * together with all that came in the same turn. An answer tells a sender how many of its messages
 * are synced. A requester's message also goes to one of the workers in turn. `node relay.js FOLDER` tells its URL to its parent.
 */
import { fdatasyncSync, openSync, writeSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type WebSocket, WebSocketServer } from 'ws'
import { WORKER_PATH } from './relay-client.ts'

interface Waiting {
  readonly from: WebSocket
  readonly message: Buffer
  readonly isForWorker: boolean
}

const [folder = '.'] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))

const file = openSync(join(folder, 'log'), 'w')
const workers: WebSocket[] = []
let waiting: Waiting[] = []
let turn = 0

const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
server.on('connection', (socket, { url }) => {
  const isWorker = url === WORKER_PATH
  if (isWorker) workers.push(socket)
  socket.on('message', (message: Buffer) => {
    if (waiting.push({ from: socket, message, isForWorker: !isWorker }) === 1) setImmediate(flush)
  })
})
server.on('listening', () => {
  process.send?.({ url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` })
})

function flush(): void {
  const batch = waiting
  waiting = []
  writeSync(file, Buffer.concat(batch.map(({ message }) => message)))
  fdatasyncSync(file)
  const synced = new Map<WebSocket, number>()
  for (const { from, message, isForWorker } of batch) {
    synced.set(from, (synced.get(from) ?? 0) + 1)
    if (isForWorker) workers[turn++ % workers.length]?.send(message, { binary: false })
  }
  for (const [socket, count] of synced) socket.send(String(count))
}
