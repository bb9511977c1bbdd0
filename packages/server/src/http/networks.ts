import { BlockList, isIP } from 'node:net'
import { invariant } from '@fairlead/core/internal'

/** Addresses such as 10.0.0.7, and networks such as 10.0.0.0/8. */
export class Networks {
  readonly #list = new BlockList()
  readonly #isEmpty: boolean

  constructor(written: readonly string[]) {
    this.#isEmpty = written.length === 0
    for (const one of written) {
      const network = networkOf(one)
      invariant(network !== null, 'a network was checked before')
      this.#list.addSubnet(network.address, network.bits, network.family)
    }
  }

  /** An address of IPv4 counts as one of ::ffff:0:0/96, too. */
  has(address: string): boolean {
    if (this.#isEmpty) return false
    const plain = plainAddress(address)
    const version = isIP(plain)
    return version !== 0 && this.#list.check(plain, version === 6 ? 'ipv6' : 'ipv4')
  }
}

export function isNetwork(written: string): boolean {
  return networkOf(written) !== null
}

/** An IPv4 address as a socket for both versions shows it, and one of IPv6 without its interface. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
}

function networkOf(written: string) {
  const [address = '', bits, ...rest] = written.split('/')
  const version = isIP(address)
  const bitsMax = version === 6 ? 128 : 32
  const length = bits === undefined ? bitsMax : Number(/^\d{1,3}$/.exec(bits)?.[0])
  if (version === 0 || !(length <= bitsMax) || rest.length > 0) return null
  return { address, bits: length, family: version === 6 ? 'ipv6' : 'ipv4' } as const
}
