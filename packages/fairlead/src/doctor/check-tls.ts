import type { FairleadError } from '@fairlead/core'
import { TlsFiles } from '@fairlead/server'
import type { Config } from '../config/load-config.ts'
import { tlsPaths } from '../serve/tls-paths.ts'
import { type Finding, fail, ok, warn } from './check.ts'

const SOON_MS = 7 * 86_400_000

/** Can the certificate be used, and for how long? Without one, does anything cross a network? */
export function checkTls({ settings }: Config, isLoopback: boolean): Finding {
  const { host } = settings.server
  try {
    const paths = tlsPaths(settings.server)
    if (paths === null && isLoopback) return ok('tls', `None, and ${host} is on this machine.`)
    if (paths === null) {
      const advice =
        'Set server.tls_cert and server.tls_key, or put a proxy that speaks TLS in front.'
      return warn('tls', `Tokens and payloads cross the network in clear text on ${host}.`, advice)
    }
    const { validTo } = new TlsFiles(paths)
    const text = `The certificate ${paths.cert} is valid until ${validTo}.`
    if (Date.parse(validTo) - Date.now() > SOON_MS) return ok('tls', text)
    return warn('tls', text, 'Renew it; the running server takes the new files by itself.')
  } catch (error) {
    return fail('tls', (error as FairleadError).message, 'Correct the files or the settings.')
  }
}
