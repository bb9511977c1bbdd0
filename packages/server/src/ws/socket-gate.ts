import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { FairleadError } from '@fairlead/core'
import { BATCH_PROTOCOL, BEARER_PROTOCOL_PREFIX, PLAIN_PROTOCOL } from '@fairlead/protocol'
import { WebSocketServer } from 'ws'
import { type Authenticator, authAttemptOf, bearerOf, statusOf } from '../auth/authenticator.ts'
import type { Identity } from '../auth/identity.ts'
import type { Ownership } from '../events/ownership.ts'
import type { BasePath } from '../http/base-path.ts'
import type { Connections } from '../http/connections.ts'
import type { OwnNames } from '../http/own-names.ts'
import type { ServerLimits } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { Dispatcher } from '../rpc/dispatcher.ts'
import { CLOSE } from './close-codes.ts'
import { SocketPeer } from './socket-peer.ts'

interface Parts {
  readonly dispatcher: Dispatcher
  readonly authenticator: Authenticator
  readonly ownership: Ownership
  readonly connections: Connections
  readonly names: OwnNames
  readonly basePath: BasePath
  readonly limits: ServerLimits
  readonly logger: Logger
  readonly newRequestId: () => string
}

/** Lets WebSockets in, and looks after those that are (WS-1). */
export class SocketGate {
  readonly #parts: Parts
  readonly #server: WebSocketServer
  readonly #peers = new Set<SocketPeer>()
  readonly #timer: NodeJS.Timeout
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: parts.limits.bodyBytes,
      perMessageDeflate: false,
      handleProtocols: chosenProtocol,
    })
    this.#timer = setInterval(() => this.#lookAfter(), parts.limits.pingMs).unref()
  }

  get size(): number {
    return this.#peers.size
  }

  /** For the `upgrade` event of an HTTP server. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Until it is a WebSocket nobody else listens, and an error without a listener ends the process.
    socket.on('error', ignore)
    const { connections } = this.#parts
    const refusal = this.#refusalOf(request)
    if (refusal !== null) return refuse(socket, ...refusal)
    if (!connections.admits(request, socket)) {
      return refuse(socket, 503, 'too many connections are open; try later')
    }
    const token = tokenOf(request)
    let identity: Identity
    try {
      identity = await this.#parts.authenticator.identify(
        authAttemptOf(request, connections.addressOf(request), token),
      )
      connections.claim(socket, identity.tokenId)
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      return refuse(socket, statusOf(error), error.message)
    }
    if (socket.destroyed) return
    socket.off('error', ignore)
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      const { dispatcher, ownership, limits, logger, newRequestId } = this.#parts
      const takesBatches = ws.protocol === BATCH_PROTOCOL
      const id = newRequestId()
      const peer = new SocketPeer({
        ws,
        id,
        identity,
        dispatcher,
        ownership,
        limits,
        logger,
        takesBatches,
      })
      this.#peers.add(peer)
      ws.once('close', () => this.#peers.delete(peer))
      logger.debug({ socket: id, token_id: identity.tokenId, role: identity.role }, 'socket opened')
    })
  }

  /** Says that the server goes; nobody is let in any more. */
  announceClose(deadlineMs: number): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const peer of this.#peers) peer.notify('server.closing', { deadline_ms: deadlineMs })
  }

  /** Resolves when all sockets are closed. */
  async close(): Promise<void> {
    const open = [...this.#peers]
    for (const peer of open) peer.goAway()
    await Promise.all(open.map((peer) => peer.whenClosed))
  }

  terminate(): void {
    for (const peer of this.#peers) peer.terminate()
  }

  #refusalOf({ url, headers }: IncomingMessage): [status: number, text: string] | null {
    const { limits, names, basePath } = this.#parts
    if (this.#isClosed) return [503, 'the server shuts down']
    const path = basePath.below(url ?? '/')?.split('?', 1)[0]
    if (path !== '/ws') return [404, `WebSockets are at ${basePath.text}/ws`]
    if (this.#peers.size >= limits.sockets) return [503, 'too many WebSockets are open']
    const foreign = names.refusalOf(headers.host, headers.origin)
    return foreign === null ? null : [403, foreign]
  }

  /** Cuts off who was let in and may not stay (AUTH-3). */
  async endOver(): Promise<void> {
    const { authenticator } = this.#parts
    for (const peer of this.#peers) {
      const end = await authenticator.endOf(peer.identity)
      if (end !== null) peer.cutOff(ENDS[end].code, ENDS[end].reason)
    }
  }

  /** Asks for signs of life, and for tokens of which no change is told. */
  #lookAfter(): void {
    for (const peer of this.#peers) peer.ping()
    // Who was let in stays until it is known to be over.
    this.endOver().catch((err: unknown) =>
      this.#parts.logger.error({ err }, 'the tokens cannot be read'),
    )
  }
}

/** A token that was changed is still one: its client comes back by itself. */
const ENDS = {
  ended: { code: CLOSE.tokenEnded, reason: 'the token was revoked or has expired' },
  tokens: { code: CLOSE.tokenEnded, reason: 'there are tokens by now; connect again with one' },
  changed: { code: CLOSE.tryLater, reason: 'the token was changed; connect again' },
} as const

function chosenProtocol(offered: Set<string>): string | false {
  if (offered.has(BATCH_PROTOCOL)) return BATCH_PROTOCOL
  return offered.has(PLAIN_PROTOCOL) ? PLAIN_PROTOCOL : false
}

function tokenOf({ headers }: IncomingMessage): string | null {
  const bearer = bearerOf(headers.authorization)
  if (bearer !== null) return bearer
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? []
  const found = offered.find((name) => name.startsWith(BEARER_PROTOCOL_PREFIX))
  return found?.slice(BEARER_PROTOCOL_PREFIX.length) ?? null
}

function refuse(socket: Duplex, status: number, text: string): void {
  const body = `${text}\n`
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

function ignore(): void {}
