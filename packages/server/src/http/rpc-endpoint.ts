import type { IncomingMessage, ServerResponse } from 'node:http'
import { FairleadError } from '@fairlead/core'
import { RPC_ERRORS, type RpcErrorObject, rpcErrorOf } from '@fairlead/protocol'
import { type Authenticator, authAttemptOf } from '../auth/authenticator.ts'
import type { Identity } from '../auth/identity.ts'
import type { ServerLimits } from '../limits.ts'
import type { Dispatcher, Reply } from '../rpc/dispatcher.ts'
import { CBOR_FORMAT, JSON_FORMAT, type MessageFormat } from '../rpc/message-format.ts'
import type { Bodies } from './body.ts'
import type { Connections } from './connections.ts'
import { refuse, refuseLong, reply } from './reply.ts'

/** What the endpoints have in common. */
export interface EndpointParts {
  readonly dispatcher: Dispatcher
  readonly authenticator: Authenticator
  readonly connections: Connections
  readonly bodies: Bodies
  readonly limits: ServerLimits
}

/** `POST /rpc`: one call or a batch, in JSON or CBOR. */
export class RpcEndpoint {
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

  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
    const format = formatOf(request.headers['content-type'])
    if (format === null) {
      return refuse(response, 415, 'send application/json or application/cbor')
    }
    try {
      const identity = await this.#authenticator.identify(
        authAttemptOf(request, this.#connections.addressOf(request)),
      )
      this.#connections.claim(request.socket, identity.tokenId)
      await this.#bodies.use(request, identity.tokenId, (body) =>
        this.#answer(body, { identity, request, response, requestId, format }),
      )
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      refuseCall(response, format, rpcErrorOf(error))
    }
  }

  async #answer(body: Buffer | null, asked: Asked): Promise<void> {
    const { identity, request, response, requestId, format } = asked
    if (body === null) return refuseLong(response, this.#limits)
    const left = new AbortController()
    response.once('close', () => left.abort())
    const call = {
      identity,
      socket: null,
      signal: left.signal,
      traceparent: traceparentOf(request.headers['traceparent']),
      requestId,
    }
    const read = await this.#dispatcher.read(body, call, format)
    if (read === null) return refuseCall(response, format, RPC_ERRORS.parse)
    send(response, format, await this.#dispatcher.answer(read.message, call, format))
  }
}

interface Asked {
  readonly identity: Identity
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly format: MessageFormat
}

function formatOf(contentType: string | undefined): MessageFormat | null {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/json') return JSON_FORMAT
  return type === 'application/cbor' ? CBOR_FORMAT : null
}

/** Answers of JSON-RPC are all 200; only who may not call at all, or not now, hears it from HTTP too. */
function send(response: ServerResponse, format: MessageFormat, answer: Reply | null): void {
  if (answer === null) return reply(response, 204, null)
  const { pieces, isBatch, error } = answer
  const headers: Record<string, string> = { 'content-type': format.contentType }
  const data = error?.data as { code?: string; details?: object } | undefined
  const status = STATUS[data?.code ?? ''] ?? 200
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="fairlead"'
  if (status === 429) {
    const { retry_after_ms: wait = 1_000 } = (data?.details ?? {}) as { retry_after_ms?: number }
    headers['retry-after'] = String(Math.ceil(wait / 1_000))
  }
  reply(response, status, format.write(pieces, isBatch), headers)
}

/** A message that did not get as far as a call. */
function refuseCall(response: ServerResponse, format: MessageFormat, error: RpcErrorObject): void {
  const piece = format.answer({ id: null, method: null, error })
  send(response, format, { pieces: [piece], isBatch: false, error })
}

const STATUS: Readonly<Record<string, number>> = { Unauthorized: 401, RateLimited: 429 }

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** A header that is none is left out, as the standard wants it. */
function traceparentOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && TRACEPARENT.test(header) ? header : null
}
