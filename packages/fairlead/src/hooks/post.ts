import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressGuard } from './address-guard.ts'

export interface PostAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
}

/**
 * One POST over a connection of its own. A redirect is an answer like any other, and is not followed. The body of the
 * answer is not read: nothing of it is wanted.
 */
export function post(
  url: string,
  given: {
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
    readonly guard: AddressGuard
    readonly signal: AbortSignal
  },
): Promise<PostAnswer> {
  const { body, headers, guard, signal } = given
  const target = new URL(url)
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    guard.checkLiteral(target.hostname)
    const request = send(target, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: false,
      lookup: guard.lookup,
      signal,
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const { statusCode: status = 0, headers: answered } = response
      response.on('error', () => {})
      resolve({ status, retryAfter: answered['retry-after'] })
      response.destroy()
    })
    request.end(body)
  })
}
