import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { invalidParams } from '@fairlead/core/internal'

/** The proxies that the operator trusts to say for whom they ask (LIMITS-3). */
export class TrustedProxies {
  readonly #list = new BlockList()
  readonly #isEmpty: boolean

  /** Addresses such as 10.0.0.7, or networks such as 10.0.0.0/8. */
  constructor(written: readonly string[]) {
    this.#isEmpty = written.length === 0
    for (const one of written) this.#add(one)
  }

  has(address: string): boolean {
    if (this.#isEmpty) return false
    const plain = plainAddress(address)
    const version = isIP(plain)
    return version !== 0 && this.#list.check(plain, version === 6 ? 'ipv6' : 'ipv4')
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

  #add(written: string): void {
    const [address = '', bits] = written.split('/')
    const version = isIP(address)
    const bitsMax = version === 6 ? 128 : 32
    const length = bits === undefined ? bitsMax : Number(/^\d{1,3}$/.exec(bits)?.[0])
    if (version === 0 || !(length <= bitsMax)) {
      throw invalidParams(
        'server.trusted_proxies',
        'addresses such as 10.0.0.7, or networks such as 10.0.0.0/8',
      )
    }
    this.#list.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4')
  }
}

/** An IPv4 address as a socket for both versions shows it. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
