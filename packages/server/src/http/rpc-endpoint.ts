import type { IncomingMessage, ServerResponse } from 'node:http'
import { FairleadError } from '@fairlead/core'
import { RPC_ERRORS, rpcErrorOf } from '@fairlead/protocol'
import { type Authenticator, knockOf } from '../auth/authenticator.ts'
import type { Identity } from '../auth/identity.ts'
import type { ServerLimits } from '../limits.ts'
import type { Dispatcher } from '../rpc/dispatcher.ts'
import { type Answer, CBOR_FORM, type Form, JSON_FORM } from '../rpc/form.ts'
import { readBody } from './body.ts'
import { refuse, reply } from './reply.ts'

/** `POST /rpc`: one call or a batch, in JSON or CBOR. */
export class RpcEndpoint {
  readonly #dispatcher: Dispatcher
  readonly #authenticator: Authenticator
  readonly #limits: ServerLimits

  constructor(dispatcher: Dispatcher, authenticator: Authenticator, limits: ServerLimits) {
    this.#dispatcher = dispatcher
    this.#authenticator = authenticator
    this.#limits = limits
  }

  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
    const form = formOf(request.headers['content-type'])
    if (form === null) {
      return refuse(response, 415, 'send application/json or application/cbor')
    }
    let identity: Identity
    try {
      identity = await this.#authenticator.identify(knockOf(request))
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      return send(response, form, { id: null, method: null, error: rpcErrorOf(error) })
    }
    const body = await readBody(request, this.#limits.bodyBytes)
    if (body === null) {
      // What is still on its way is not read: the connection cannot be used any more.
      return refuse(
        response,
        413,
        `the body is over the limit of ${this.#limits.bodyBytes} bytes`,
        {
          connection: 'close',
        },
      )
    }
    let message: unknown
    try {
      message = form.read(body)
    } catch {
      return send(response, form, { id: null, method: null, error: RPC_ERRORS.parse })
    }
    const left = new AbortController()
    response.once('close', () => left.abort())
    const call = {
      identity,
      socket: null,
      signal: left.signal,
      traceparent: traceparentOf(request.headers['traceparent']),
      requestId,
    }
    send(response, form, await this.#dispatcher.answer(message, call, form))
  }
}

function formOf(contentType: string | undefined): Form | null {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/json') return JSON_FORM
  return type === 'application/cbor' ? CBOR_FORM : null
}

/** Answers of JSON-RPC are all 200; only who may not call at all, or not now, hears it from HTTP too. */
function send(response: ServerResponse, form: Form, answer: Answer | Answer[] | null): void {
  if (answer === null) return reply(response, 204, null)
  const isBatch = Array.isArray(answer)
  const pieces = isBatch ? answer.map((one) => form.answer(one)) : [form.answer(answer)]
  const headers: Record<string, string> = { 'content-type': form.contentType }
  const data = isBatch ? undefined : (answer.error?.data as { code?: string; details?: object })
  const status = STATUS[data?.code ?? ''] ?? 200
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="fairlead"'
  if (status === 429) {
    const { retry_after_ms: wait = 1_000 } = (data?.details ?? {}) as { retry_after_ms?: number }
    headers['retry-after'] = String(Math.ceil(wait / 1_000))
  }
  reply(response, status, form.write(pieces, isBatch), headers)
}

const STATUS: Readonly<Record<string, number>> = { Unauthorized: 401, RateLimited: 429 }

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** A header that is none is left out, as the standard wants it. */
function traceparentOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && TRACEPARENT.test(header) ? header : null
}
