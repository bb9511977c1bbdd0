import type { IncomingMessage, ServerResponse } from 'node:http'
import { FairleadError } from '@fairlead/core'
import { type MethodName, type RpcErrorData, rpcErrorOf } from '@fairlead/protocol'
import { type Authenticator, authAttemptOf } from '../auth/authenticator.ts'
import type { ServerLimits } from '../limits.ts'
import type { Call } from '../rpc/call.ts'
import type { Dispatcher } from '../rpc/dispatcher.ts'
import { JSON_FORMAT } from '../rpc/message-format.ts'
import type { Bodies } from './body.ts'
import type { Connections } from './connections.ts'
import { refuse, refuseLong, reply } from './reply.ts'
import type { Routes } from './routes.ts'
import type { EndpointParts } from './rpc-endpoint.ts'

/** Limits of a page where the caller does not say. */
const PAGE = 1_000
const ONE_LIMIT = '/v1/admin/limits/'

/**
 * The limiter for other languages: plain HTTP and JSON. Each route stands for a method and goes the same way
 * from there, so that roles, rates, checks, audit and metrics are those of all calls (HTTP-1).
 */
export class LimitsEndpoint {
  readonly routes: Routes = {
    '/v1/reserve': { POST: this.#posted('limits.reserve') },
    '/v1/reserve/batch': { POST: this.#posted('limits.reserveMany') },
    '/v1/complete': { POST: this.#posted('limits.complete') },
    '/v1/complete/batch': { POST: this.#posted('limits.completeMany') },
    '/v1/admin/reset': { POST: this.#posted('limits.reset') },
    '/v1/admin/limits': {
      PUT: this.#posted('limits.define', (definition) => ({ limit: withoutZeros(definition) })),
      GET: (request, response, id) =>
        this.#answer(request, response, id, 'limits.list', async () => pageOf(request)),
    },
    [`${ONE_LIMIT}{key}`]: {
      GET: (request, response, id) =>
        this.#answer(request, response, id, 'limits.get', async () => ({ key: keyOf(request) })),
      DELETE: (request, response, id) =>
        this.#answer(request, response, id, 'limits.delete', async () => ({ key: keyOf(request) })),
    },
  }
  readonly #dispatcher: Dispatcher
  readonly #authenticator: Authenticator
  readonly #connections: Connections
  readonly #bodies: Bodies
  readonly #limits: ServerLimits

  constructor(parts: EndpointParts) {
    this.#dispatcher = parts.dispatcher
    this.#authenticator = parts.authenticator
    this.#connections = parts.connections
    this.#bodies = parts.bodies
    this.#limits = parts.limits
  }

  /** A route whose params come in the body. */
  #posted(method: MethodName, paramsOf: (body: object) => object = (body) => body) {
    return async (request: IncomingMessage, response: ServerResponse, id: string) => {
      const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
      // A page of another origin can send anything else without being asked for leave.
      if (type !== 'application/json') return refuse(response, 415, 'send application/json')
      await this.#answer(request, response, id, method, (call) =>
        this.#bodies.use(request, call.identity.tokenId, async (body) => {
          if (body === null) return null
          return paramsOf(objectOf(await this.#dispatcher.read(body, call, JSON_FORMAT)))
        }),
      )
    }
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    method: MethodName,
    read: (call: Call) => Promise<object | null>,
  ): Promise<void> {
    try {
      const identity = await this.#authenticator.identify(
        authAttemptOf(request, this.#connections.addressOf(request)),
      )
      this.#connections.claim(request.socket, identity.tokenId)
      const call = { identity, socket: null, signal: null, traceparent: null, requestId }
      const params = await read(call)
      if (params === null) return refuseLong(response, this.#limits)
      const message = { jsonrpc: '2.0', id: 0, method, params }
      const answer = await this.#dispatcher.answerOne(message, call, JSON_FORMAT)
      if (answer?.error === undefined) return send(response, 200, answer?.result)
      sendError(response, answer.error.message, answer.error.data as RpcErrorData)
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      const { message, data } = rpcErrorOf(error)
      sendError(response, message, data)
    }
  }
}

/** The route of a path that is none by itself. */
export function limitRouteOf(path: string): string {
  return path.startsWith(ONE_LIMIT) && path.length > ONE_LIMIT.length ? `${ONE_LIMIT}{key}` : path
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  reply(response, status, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
}

/** Status and word of each refusal; all others are told as they are. */
const REFUSALS: Readonly<Record<string, readonly [status: number, word: string]>> = {
  InvalidParams: [400, 'invalid_request'],
  Unauthorized: [401, 'unauthorized'],
  Forbidden: [403, 'forbidden'],
  NotFound: [404, 'unknown_limit_key'],
  RateLimited: [429, 'rate_limited'],
  StoreUnavailable: [503, 'backend_error'],
  NotLeader: [503, 'backend_error'],
}

function sendError(response: ServerResponse, message: string, data: RpcErrorData): void {
  const { code, details } = data
  const [status, word] = REFUSALS[code] ?? [500, 'internal']
  const { key, retry_after_ms: wait } = details as { key?: string; retry_after_ms?: number }
  const error = status === 404 ? `${word}:${key}` : word
  // Here a definition is the body itself, not a param of that name.
  const detail = message.replaceAll(/(^|; )limit\./g, '$1')
  send(
    response,
    status,
    { error, detail },
    {
      ...(status === 401 ? { 'www-authenticate': 'Bearer realm="fairlead"' } : {}),
      ...(wait === undefined ? {} : { 'retry-after': String(Math.ceil(wait / 1_000)) }),
    },
  )
}

function objectOf(read: { readonly message: unknown } | null): object {
  if (read === null) throw malformed('body', 'JSON in UTF-8')
  const { message } = read
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message
  throw malformed('body', 'an object')
}

/** Times that a kind does not have. */
const NO_TIMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['rolling', ['timeout_seconds']],
  ['fixed', ['timeout_seconds']],
  ['concurrency', ['window_seconds']],
  ['bucket', ['window_seconds', 'timeout_seconds']],
])

/** Clients whose languages have zero values send them for what a kind does not have. */
function withoutZeros(definition: object): object {
  const { kind } = definition as { readonly kind?: unknown }
  const none = (typeof kind === 'string' && NO_TIMES.get(kind)) || []
  const saysNothing = ([field, value]: readonly [string, unknown]): boolean =>
    (value === 0 && none.includes(field)) || (value === '' && field === 'overage')
  return Object.fromEntries(Object.entries(definition).filter((entry) => !saysNothing(entry)))
}

function pageOf({ url = '' }: IncomingMessage): object {
  const { limit, ...rest } = Object.fromEntries(new URLSearchParams(url.split('?', 2)[1] ?? ''))
  if (limit === undefined) return { ...rest, limit: PAGE }
  return { ...rest, limit: /^\d{1,9}$/.test(limit) ? Number(limit) : limit }
}

function keyOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split('?', 1)
  try {
    return decodeURIComponent(path.slice(ONE_LIMIT.length))
  } catch {
    throw malformed('key', 'a key in percent encoding')
  }
}

function malformed(field: string, expected: string): FairleadError {
  return new FairleadError('InvalidParams', `${field}: expected ${expected}`, { field })
}
