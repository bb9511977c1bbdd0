import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { invalidParams } from '@fairlead/core/internal'
import { isNetwork, Networks, plainAddress } from './networks.ts'

/** The proxies that the operator trusts to say for whom they ask (LIMITS-3). */
export class TrustedProxies {
  readonly #networks: Networks

  /** Addresses such as 10.0.0.7, or networks such as 10.0.0.0/8. */
  constructor(written: readonly string[]) {
    if (!written.every(isNetwork)) {
      throw invalidParams(
        'server.trusted_proxies',
        'addresses such as 10.0.0.7, or networks such as 10.0.0.0/8',
      )
    }
    this.#networks = new Networks(written)
  }

  has(address: string): boolean {
    return this.#networks.has(address)
  }

  /** Where a request comes from: the last address on its way that is not a trusted proxy's. */
  clientOf({ socket, headers }: IncomingMessage): string {
    const peer = plainAddress(socket.remoteAddress ?? 'unknown')
    if (!this.has(peer)) return peer
    const forwarded = headers['x-forwarded-for']
    const way = (Array.isArray(forwarded) ? forwarded.join() : (forwarded ?? '')).split(',')
    const hops = way.map((hop) => plainAddress(hop.trim())).filter((hop) => isIP(hop) !== 0)
    return hops.findLast((hop) => !this.has(hop)) ?? peer
  }
}
