import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FairleadError } from '@fairlead/core'
import { type Assembled, assemble } from './assemble.ts'
import type { TokenStore } from './auth/identity.ts'
import { isLoopback, type ServerOptions } from './server-options.ts'

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Takes no more, answers what was asked, tells workers, and is gone by the deadline at the latest. */
  close(deadlineMs?: number): Promise<void>
}

const CLOSE_MS = 10_000

/** Puts an engine on the network. The engine stays its owner's: close it after the server. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  refuseOpen(options)
  const { host } = options.listen
  const parts = await assemble(options)
  const port = await listenOn(parts.http, options.listen).catch(async (error: unknown) => {
    await parts.dispose()
    throw error
  })
  const { logger, authenticator } = parts
  const scheme = options.tls === undefined ? 'http' : 'https'
  const origin = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const url = `${origin}${parts.basePath.text}`
  const { isAnnounced = true } = options
  if (isAnnounced) logger.info({ url }, 'listening')
  if (isAnnounced && authenticator.isOpen) {
    logger.warn({}, 'there are no tokens: everybody on this machine is a local admin')
    if (options.engine.view.tokensSeen) logger.warn({}, 'there were tokens before this start')
  }
  if (options.tls === undefined && !isLoopback(host)) {
    logger.warn({ url }, 'tokens and payloads cross the network in clear text; use TLS')
  }
  let closing: Promise<void> | null = null
  return {
    url,
    port,
    close: (deadlineMs = CLOSE_MS) => {
      closing ??= shutDown(parts, deadlineMs, isAnnounced)
      return closing
    },
  }
}

/** Refuses an address that `startServer` would refuse, before anything is made for the start (FILES-2). */
export async function refuseAddress({
  listen,
  tokens = null,
}: Pick<ServerOptions, 'listen' | 'tokens'>): Promise<void> {
  refuseOpenAddress(listen.host, tokens)
  const probe = createServer()
  await listenOn(probe, listen)
  await new Promise<void>((resolve) => probe.close(() => resolve()))
}

type OpenCheck = Pick<ServerOptions, 'engine' | 'listen' | 'tokens' | 'isInsecureLocal'>

/** AUTH-2, TOKEN-1: nobody else may reach a server that lets everybody in, and none that had tokens does so by itself. */
export function refuseOpen({
  engine,
  listen,
  tokens = null,
  isInsecureLocal = false,
}: OpenCheck): void {
  refuseOpenAddress(listen.host, tokens)
  const hasTokens = tokens !== null && !tokens.isEmpty()
  if (hasTokens || !engine.view.tokensSeen || isInsecureLocal) return
  throw new FairleadError(
    'InvalidParams',
    'tokens: this store had tokens, and there are none now; restore the tokens file, or create tokens with "fairlead token create", or start with --insecure-local, which lets everybody on this machine in as an admin',
    { field: 'tokens' },
  )
}

/** AUTH-2: nobody else may reach a server that lets everybody in. */
function refuseOpenAddress(host: string, tokens: TokenStore | null): void {
  if (isLoopback(host) || (tokens !== null && !tokens.isEmpty())) return
  throw new FairleadError(
    'InvalidParams',
    `listen: ${host} can be reached from other machines, and there are no tokens; create one with "fairlead token create --role admin --subject <name>", or listen on 127.0.0.1`,
    { field: 'listen' },
  )
}

async function listenOn(http: Server, { host, port }: ServerOptions['listen']): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject)
      http.listen(port, host, () => resolve())
    })
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const why = WHY_NOT[code ?? ''] ?? message
    const text = `listen: cannot listen on ${host}:${port}: ${why}`
    throw new FairleadError('InvalidParams', text, { field: 'listen' }, { cause })
  }
  return (http.address() as AddressInfo).port
}

const WHY_NOT: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process does; stop it, or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address; choose one that it has',
  EACCES: 'this user may not; choose a port above 1023',
  ENOTFOUND: 'there is no such name; give an address',
}

/** One thing after the other, so that nobody loses what was promised; the deadline ends it all (CLOSE-1). */
async function shutDown(parts: Assembled, deadlineMs: number, isAnnounced: boolean): Promise<void> {
  const { http, gate, polls, dispatcher, logger } = parts
  parts.beginClose()
  const gone = new Promise<void>((resolve) => http.close(() => resolve()))
  const atDeadline = setTimeout(() => {
    gate.terminate()
    http.closeAllConnections()
  }, deadlineMs)
  gate.announceClose(deadlineMs)
  await polls.close().catch((err: unknown) => logger.warn({ err }, 'polls were not closed cleanly'))
  await Promise.race([dispatcher.idle(), gone])
  await gate.close()
  http.closeIdleConnections()
  await gone
  clearTimeout(atDeadline)
  await parts.dispose()
  if (isAnnounced) logger.info({}, 'closed')
}
