import { FairleadError } from '@fairlead/core'
import type { TlsPaths } from '@fairlead/server'
import type { Settings } from '../config/settings.ts'

/** The files for TLS as they are configured, or null for clear text; a part of them alone is refused. */
export function tlsPaths({ tlsCert, tlsKey, tlsClientCa }: Settings['server']): TlsPaths | null {
  if (tlsCert !== null && tlsKey !== null) {
    const own = { cert: tlsCert, key: tlsKey }
    return tlsClientCa === null ? own : { ...own, clientCa: tlsClientCa }
  }
  if (tlsCert === null && tlsKey === null && tlsClientCa === null) return null
  const missing = tlsCert === null ? 'tls_cert' : 'tls_key'
  throw new FairleadError(
    'InvalidParams',
    `server.${missing}: expected a file, because TLS takes a certificate and its key; give both, or none of the TLS files`,
    { field: `server.${missing}` },
  )
}
