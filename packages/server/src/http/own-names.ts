import { isIP } from 'node:net'
import { hostname } from 'node:os'

const HOST = /^(?:\[([^\]]+)\]|([^:]*))(?::\d{1,5})?$/

/**
 * Under which names the server may be asked, and from which pages (HOST-1). A page of another site can have
 * its own name resolve to this server; the Host of its requests gives it away. An address cannot be forged so.
 */
export class OwnNames {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  readonly #takesAny: boolean

  constructor(parts: {
    readonly listenHost: string
    /** Names of the server beside its addresses and that of the machine; `*` is any. */
    readonly hosts: readonly string[]
    readonly origins: readonly string[]
  }) {
    const { listenHost, hosts, origins } = parts
    const own = ['localhost', listenHost, hostname(), ...hosts]
    this.#hosts = new Set(own.map((name) => name.toLowerCase()))
    this.#origins = new Set(origins)
    this.#takesAny = hosts.includes('*')
  }

  /** Null for a request that may come in; else why it may not. */
  refusalOf(host: string | undefined, origin: string | undefined): string | null {
    if (!this.#isOwnHost(host)) {
      return 'this server does not go by that name; its operator can add it to server.allowed_hosts'
    }
    if (origin === undefined || this.allows(origin) || isSameOrigin(origin, host)) return null
    return 'this origin may not connect; the operator can add it to server.allowed_origins'
  }

  /** A page of another origin that the operator has named. */
  allows(origin: string): boolean {
    return this.#origins.has(origin)
  }

  /** HTTP/1.0 has no Host, and no browser speaks it. */
  #isOwnHost(host: string | undefined): boolean {
    if (host === undefined || this.#takesAny) return true
    const [, bracketed, plain = ''] = HOST.exec(host) ?? []
    const name = (bracketed ?? plain).toLowerCase()
    return isIP(name) !== 0 || this.#hosts.has(name)
  }
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}
