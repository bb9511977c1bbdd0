import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { FairleadError } from '@fairlead/core'
import { Tally } from './tally.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** Connections beyond the bounds that are kept to be told so; the oldest makes room for a new one. */
export const SPARE_MAX = 64

const RETRY_MS = 1_000

/**
 * The bounds on connections (LIMITS-3): in all, of one address and of one token. One beyond the first two is
 * spare: it may ask for `/livez` and `/readyz`, and nothing else, so that a crowd never looks like the end of
 * the server.
 */
export class Connections {
  readonly #max: number
  readonly #byAddress: Tally
  readonly #byToken: Tally
  readonly #proxies: TrustedProxies
  /** By the other end: what speaks TLS on a connection is another object than the connection. */
  readonly #spare = new Map<string, Socket>()
  readonly #tokens = new WeakMap<Duplex, string>()
  #open = 0

  constructor(
    limits: {
      readonly connections: number
      readonly connectionsPerAddress: number
      readonly connectionsPerToken: number
    },
    proxies: TrustedProxies,
  ) {
    this.#max = limits.connections
    this.#byAddress = new Tally(limits.connectionsPerAddress)
    this.#byToken = new Tally(limits.connectionsPerToken)
    this.#proxies = proxies
  }

  /** For the `connection` event of a server. */
  add(socket: Socket): void {
    const address = socket.remoteAddress ?? 'unknown'
    // Those of a trusted proxy are many people's: each request counts for the one it is for.
    const isOwn = !this.#proxies.has(address)
    if (this.#open >= this.#max || (isOwn && !this.#byAddress.take(address))) {
      return this.#addSpare(socket)
    }
    this.#open++
    socket.once('close', () => {
      this.#open--
      if (isOwn) this.#byAddress.give(address)
    })
  }

  /** Where a request comes from. */
  addressOf(request: IncomingMessage): string {
    return this.#proxies.clientOf(request)
  }

  /** False for a request that would be one too many; `over` is whatever closes when it is done with. */
  admits(request: IncomingMessage, over: NodeJS.EventEmitter): boolean {
    const { socket } = request
    if (this.#spare.has(otherEnd(socket))) return false
    if (!this.#proxies.has(socket.remoteAddress ?? 'unknown')) return true
    const address = this.addressOf(request)
    if (!this.#byAddress.take(address)) return false
    over.once('close', () => this.#byAddress.give(address))
    return true
  }

  /** Counts a connection for the token that it was used with last. */
  claim(socket: Duplex, tokenId: string): void {
    const before = this.#tokens.get(socket)
    if (before === tokenId) return
    if (!this.#byToken.take(tokenId)) {
      throw new FairleadError(
        'RateLimited',
        `too many connections of this token are open; close some, and try again in ${RETRY_MS} ms`,
        { retry_after_ms: RETRY_MS },
      )
    }
    this.#tokens.set(socket, tokenId)
    if (before !== undefined) return this.#byToken.give(before)
    socket.once('close', () => this.#byToken.give(this.#tokens.get(socket) as string))
  }

  #addSpare(socket: Socket): void {
    if (this.#spare.size >= SPARE_MAX) {
      const [oldest] = this.#spare.values()
      oldest?.destroy()
    }
    const end = otherEnd(socket)
    this.#spare.set(end, socket)
    socket.once('close', () => this.#spare.delete(end))
  }
}

function otherEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
