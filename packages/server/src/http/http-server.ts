import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { FairleadError } from '@fairlead/core'
import type { Registry } from 'prom-client'
import type { AccessNotes } from '../auth/access-notes.ts'
import { type Authenticator, authAttemptOf, statusOf } from '../auth/authenticator.ts'
import type { PageFiles } from '../dashboard/page-files.ts'
import type { ServerLimits } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { HttpMeter } from '../metrics/http-meter.ts'
import type { Turns } from '../rpc/turns.ts'
import type { BasePath } from './base-path.ts'
import { type Connections, SPARE_MAX } from './connections.ts'
import { inTurn } from './in-turn.ts'
import { type LimitsEndpoint, limitRouteOf } from './limits-endpoint.ts'
import { type OpenRpcFile, sendOpenRpc } from './openrpc-file.ts'
import type { OwnNames } from './own-names.ts'
import { sendPage } from './page-endpoint.ts'
import { refuse, reply } from './reply.ts'
import type { Methods, Route, Routes } from './routes.ts'
import type { RpcEndpoint } from './rpc-endpoint.ts'
import { newServer, type TlsFiles } from './tls-files.ts'

export interface HttpParts {
  readonly rpc: RpcEndpoint
  readonly limiting: LimitsEndpoint
  readonly authenticator: Authenticator
  readonly notes: AccessNotes
  readonly registry: Registry
  readonly meter: HttpMeter
  readonly refreshMetrics: () => void
  /** Null: ready. Else why not. */
  readonly notReady: () => string | null
  /** The description of all methods. */
  readonly openRpc: () => OpenRpcFile
  readonly turns: Turns
  readonly connections: Connections
  readonly names: OwnNames
  readonly basePath: BasePath
  /** Null: there is no page. */
  readonly page: PageFiles | null
  readonly limits: ServerLimits
  readonly logger: Logger
  readonly newRequestId: () => string
  /** Null: in clear text. */
  readonly tls: TlsFiles | null
}

/** Who may see the metrics. */
const METRICS_ROLES: ReadonlySet<string> = new Set(['admin', 'operator', 'auditor'])
const CHECK_MS = 5_000
/** Asked for by those who watch over the server, on connections beyond the bounds too. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz'])
const REQUEST_ID = /^[\w.-]{1,64}$/

/** The routes of the server, and the time-outs around them. WebSockets are taken elsewhere. */
export function createHttpServer(parts: HttpParts): Server {
  const { rpc, limits, logger, notReady, newRequestId, connections, names, basePath, page } = parts
  const routes: Routes = {
    ...parts.limiting.routes,
    '/rpc': { POST: (request, response, id) => rpc.handle(request, response, id) },
    '/ws': {
      GET: (_, response) => refuse(response, 426, 'connect by WebSocket', { upgrade: 'websocket' }),
    },
    '/metrics': { GET: (request, response) => metrics(parts, request, response) },
    '/livez': { GET: (_, response) => refuse(response, 200, 'alive') },
    '/readyz': {
      GET: (_, response) => {
        const why = notReady()
        refuse(response, why === null ? 200 : 503, why ?? 'ready')
      },
    },
    '/openrpc.json': {
      // Nobody need show a token for it, so its backlog is that of an address.
      GET: (request, response) =>
        parts.turns.run(`address ${connections.addressOf(request)}`, () =>
          sendOpenRpc(parts.openRpc(), request, response),
        ),
    },
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const given = request.headers['x-request-id']
    const id = typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId()
    response.setHeader('x-request-id', id)
    allowOrigin(names, request, response)
    const target = request.url ?? '/'
    const below = basePath.below(target)
    // Everything behind here is the same under any path.
    request.url = below ?? target
    // The time to take an answer begins with the answer.
    response.once('prefinish', () =>
      response.setTimeout(limits.stallMs, () => stalled(request, id)),
    )
    const path = (request.url ?? '/').split('?', 1)[0] as string
    const name = limitRouteOf(path)
    const methods = below !== null && Object.hasOwn(routes, name) ? routes[name] : undefined
    try {
      const foreign = names.refusalOf(request.headers.host, request.headers.origin)
      if (!PROBES.has(name) && !connections.admits(request, response)) {
        refuse(response, 503, 'too many connections are open; try later', { connection: 'close' })
      } else if (foreign !== null) refuse(response, 403, foreign)
      else if (methods === undefined) elsewhere(target, below, request, response)
      else await routeOf(methods, request)(request, response, id)
    } catch (err) {
      // Nobody is there to be told if the request itself broke off.
      if (request.destroyed && !request.complete) return
      logger.error({ err, request_id: id, path }, 'a request failed')
      refuse(response, 500, `the request failed inside of Fairlead; its log has more under ${id}`)
    }
    // Only names of routes: what a caller makes up would be a label without bounds.
    parts.meter.count(methods === undefined ? 'other' : name, response.statusCode)
  }

  /** The page, or nothing. */
  const elsewhere = (
    target: string,
    below: string | null,
    request: IncomingMessage,
    response: ServerResponse,
  ): void => {
    const [path = '/'] = (below ?? '').split('?', 1)
    if (page !== null && basePath.isBare(target)) {
      refuse(response, 308, 'the page has a slash at its end', { location: `${basePath.text}/` })
    } else if (below === null || page === null || !sendPage(page, path, request, response)) {
      refuse(response, 404, `there is nothing at this path`)
    }
  }

  const stalled = ({ socket }: IncomingMessage, request_id: string): void => {
    const address = socket.remoteAddress
    logger.warn({ address, request_id }, 'a connection was cut off: it did not take its answer')
    socket.destroy()
  }

  // Time-outs are looked at every so often, by default only twice a minute.
  const connectionsCheckingInterval = Math.min(limits.headersTimeoutMs, CHECK_MS)
  const listener = inTurn(
    (request, response) => void handle(request, response),
    (socket, max) => {
      logger.warn({ address: socket.remoteAddress, max }, 'too many pipelined requests')
      socket.destroy()
    },
  )
  const timeouts = { connectionsCheckingInterval, handshakeTimeout: limits.headersTimeoutMs }
  const server = newServer(parts.tls, timeouts, listener)
  server.on('connection', (socket: Socket) => connections.add(socket))
  server.headersTimeout = limits.headersTimeoutMs
  server.requestTimeout = limits.requestTimeoutMs
  server.keepAliveTimeout = limits.keepAliveMs
  server.maxConnections = limits.connections + 2 * SPARE_MAX
  server.maxHeadersCount = 100
  server.on('clientError', (_, socket: Socket) => {
    if (socket.writable) socket.write('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    // Not only ended: the other side may never end its own.
    socket.destroySoon()
  })
  return server
}

function routeOf(methods: Methods, request: IncomingMessage): Route {
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
  const allow = Object.keys(methods).join(', ')
  if (method === 'OPTIONS') return (_, response) => reply(response, 204, null, { allow })
  const route = Object.hasOwn(methods, method) ? methods[method] : undefined
  return route ?? ((_, response) => refuse(response, 405, `this path takes ${allow}`, { allow }))
}

async function metrics(
  { authenticator, connections, notes, registry, refreshMetrics }: HttpParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const attempt = authAttemptOf(request, connections.addressOf(request))
    const identity = await authenticator.identify(attempt)
    if (!METRICS_ROLES.has(identity.role)) {
      notes.forbidden(identity, '/metrics')
      return refuse(response, 403, `metrics are for ${[...METRICS_ROLES].join(', ')}`)
    }
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    const headers = { 'www-authenticate': 'Bearer realm="fairlead"' }
    return refuse(response, statusOf(error), error.message, headers)
  }
  refreshMetrics()
  reply(response, 200, await registry.metrics(), { 'content-type': registry.contentType })
}

/** Pages of other origins may call only if the operator has named them. */
function allowOrigin(
  names: OwnNames,
  { headers: { origin } }: IncomingMessage,
  response: ServerResponse,
): void {
  if (origin === undefined || !names.allows(origin)) return
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-allow-headers', 'authorization, content-type, traceparent')
  response.setHeader('access-control-expose-headers', 'x-request-id, retry-after')
  response.setHeader('vary', 'origin')
}
