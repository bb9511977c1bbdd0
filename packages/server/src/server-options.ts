import type { Limiter } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import type { TokenStore } from './auth/identity.ts'
import type { TlsPaths } from './http/tls-files.ts'
import type { ServerLimits } from './limits.ts'
import type { Logger } from './log.ts'
import type { MeteredStore } from './metrics/metered-store.ts'

export interface ServerOptions {
  readonly engine: Engine
  /** The store that the engine was opened on, for its metrics and for `/readyz`. */
  readonly store?: MeteredStore
  /** The file of the keys that personal data is encrypted with; whoever makes a backup is told of it. */
  readonly keyFile?: string
  /** Where limits are counted; left out, in the engine, which has their definitions in any case. It stays its owner's. */
  readonly limiter?: Limiter
  readonly listen: { readonly host: string; readonly port: number }
  /** Left out, it is served in clear text. The files are followed as they are renewed. */
  readonly tls?: TlsPaths
  /** Null, or one without tokens: on loopback everybody is a local admin, elsewhere it does not start. */
  readonly tokens?: TokenStore | null
  /** It may start without tokens on a store that had some: everybody on this machine is a local admin then (TOKEN-1). */
  readonly isInsecureLocal?: boolean
  readonly logger?: Logger
  /** False: the log does not say that the server listens and stops, because the caller tells it. */
  readonly isAnnounced?: boolean
  readonly limits?: Partial<ServerLimits>
  /** Pages of these origins may connect, beside the server's own. */
  readonly origins?: readonly string[]
  /** Names of the server beside its addresses and that of the machine; `*` is any (HOST-1). */
  readonly hosts?: readonly string[]
  /** Addresses and networks of proxies that say for whom they ask (LIMITS-3). */
  readonly trustedProxies?: readonly string[]
  /** Where OpenTelemetry spans go, such as http://localhost:4318; left out, none are made. */
  readonly otlpEndpoint?: string
  /** What texts about registrations call whoever runs this server; `Fairlead` if left out. */
  readonly serviceName?: string
  /** What they call a booking site, by its `provider`; left out, that itself. */
  readonly platformName?: (platform: string) => string
  /** The path under which everything is, such as `/x/y`; the root if left out (PAGE-2). */
  readonly basePath?: string
  /** The folder of the built page that is served at `/`; left out, there is none (PAGE-1). */
  readonly dashboard?: string
  /** False: pages show no payloads and results; shown if left out. */
  readonly showsPayloads?: boolean
  readonly version?: string
}

/** Can only this machine reach it? */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}
