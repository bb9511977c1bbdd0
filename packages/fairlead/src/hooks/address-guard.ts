import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Networks } from '@fairlead/server/networks'

/**
 * Addresses that are not of the public internet: a webhook must not reach into the network of the server. Of IPv6 all is
 * refused beside 2000::/3, and with it addresses that stand for one of IPv4 or have one inside.
 */
const REFUSED_4 = new Networks([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
])
const REFUSED_6 = new Networks([
  ...['::/3', '4000::/2', '8000::/1'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
])

/** The address that a webhook would have called is not one of the public internet. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'

  constructor(host: string, address: string) {
    const what = host === address ? `${host} is not` : `${host} is ${address}, which is not`
    super(`${what} a public address; list it under allow if it is meant`)
  }
}

/** Finds all addresses of a host. */
export type Resolve = (
  host: string,
  found: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void

const resolveByDns: Resolve = (host, found) => {
  dnsLookup(host, { all: true }, (error, addresses) => found(error, addresses ?? []))
}

/** Refuses the addresses of hosts that a webhook may not call (HOOK-6). */
export class AddressGuard {
  readonly #allowed: Networks
  readonly #resolve: Resolve

  constructor(allow: readonly string[], resolve: Resolve = resolveByDns) {
    this.#allowed = new Networks(allow)
    this.#resolve = resolve
  }

  /** Throws `AddressRefused` if the host is an address itself, for which nothing is looked up, and a refused one. */
  checkLiteral(hostname: string): void {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    if (isIP(host) !== 0 && this.#isRefused(host)) throw new AddressRefused(host, host)
  }

  /**
   * For the connection itself: it gets the addresses that were checked and asks no more, so an answer that changes
   * afterwards changes nothing.
   */
  readonly lookup: LookupFunction = (host, { all }, callback) => {
    this.#resolve(host, (error, addresses) => {
      const open = addresses.filter(({ address }) => !this.#isRefused(address))
      const [first] = open
      if (error !== null) callback(error, [])
      else if (first === undefined) {
        const [refused] = addresses
        callback(new AddressRefused(host, refused?.address ?? 'unknown'), [])
      } else if (all === true) callback(null, open)
      else callback(null, first.address, first.family)
    })
  }

  #isRefused(address: string): boolean {
    // To a list of networks an address of IPv4 is one of ::/3, too.
    const refused = isIP(address) === 4 ? REFUSED_4 : REFUSED_6
    return refused.has(address) && !this.#allowed.has(address)
  }
}
