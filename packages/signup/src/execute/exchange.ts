import { type ClientRequest, request as httpRequest } from 'node:http'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { HttpAnswer, HttpCall } from '../adapter/adapter.ts'

/** Larger answers are cut off: a booking is a line of text. */
const BODY_BYTES_MAX = 1_048_576

/** How a call ended. `unsent`: not a byte of it went out. `unanswered`: it may have arrived. */
export type Exchange =
  | {
      readonly type: 'answered'
      readonly answer: HttpAnswer
      /** On the wall clock: when it went out and when its answer began. */
      readonly sentAt: number
      readonly answeredAt: number
    }
  | { readonly type: 'unsent'; readonly code: 'network' | 'timeout' | 'not_sent' }
  | {
      readonly type: 'unanswered'
      readonly code: 'network' | 'timeout'
      readonly sentAt: number
    }

export interface ExchangeOptions {
  readonly timeoutMs: number
  /** Ends the call; what has gone out by then stays sent. */
  readonly signal: AbortSignal
  /** Asked when the connection stands, right before the first byte goes out. */
  readonly maySend: () => boolean
  readonly wallClock: () => number
}

/**
 * One call over a connection of its own. A connection that was used before may just be closing at the
 * other end, and nobody could say then whether the request arrived. Redirects are not followed: they are
 * answers, and a credential goes to no other host.
 */
export async function exchange(call: HttpCall, options: ExchangeOptions): Promise<Exchange> {
  const deadline = AbortSignal.timeout(options.timeoutMs)
  const signal = AbortSignal.any([deadline, options.signal])
  const url = new URL(call.url)
  let socket: Socket
  try {
    socket = await connected(url, signal)
  } catch {
    return { type: 'unsent', code: deadline.aborted ? 'timeout' : 'network' }
  }
  if (signal.aborted || !options.maySend()) {
    socket.destroy()
    return { type: 'unsent', code: 'not_sent' }
  }
  const { wallClock } = options
  const sentAt = wallClock()
  try {
    return await answered(call, { url, socket, signal, sentAt, wallClock })
  } catch {
    return { type: 'unanswered', code: deadline.aborted ? 'timeout' : 'network', sentAt }
  } finally {
    socket.destroy()
  }
}

function connected(url: URL, signal: AbortSignal): Promise<Socket> {
  const isTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port || (isTls ? 443 : 80))
  return new Promise((resolve, reject) => {
    // An address is no name that a server could be asked for by.
    const servername = isIP(host) === 0 ? host : ''
    const socket = isTls ? connectTls({ host, port, servername }) : connectTcp({ host, port })
    const giveUp = (): void => {
      socket.destroy()
      reject(signal.reason as Error)
    }
    // Also while nobody waits for it: an error without a listener would end the process.
    socket.on('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      signal.removeEventListener('abort', giveUp)
      socket.setNoDelay(true)
      resolve(socket)
    })
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
  })
}

function answered(
  call: HttpCall,
  from: {
    readonly url: URL
    readonly socket: Socket
    readonly signal: AbortSignal
    readonly sentAt: number
    readonly wallClock: () => number
  },
): Promise<Exchange> {
  const { url, socket, signal, sentAt, wallClock } = from
  return new Promise((resolve, reject) => {
    let request: ClientRequest
    try {
      request = httpRequest(url, {
        method: call.method,
        headers: {
          ...call.headers,
          ...(call.body === null ? {} : { 'content-length': Buffer.byteLength(call.body) }),
          connection: 'close',
        },
        // TLS is on the connection already: for the request it is a socket like any other.
        protocol: 'http:',
        createConnection: () => socket,
        signal,
      })
    } catch {
      // A header or method that HTTP does not have: an adapter in code may give any.
      resolve({ type: 'unsent', code: 'not_sent' })
      return
    }
    request.on('error', reject)
    request.on('response', (response) => {
      const answeredAt = wallClock()
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > BODY_BYTES_MAX) response.destroy(new Error('the answer is too large'))
        else chunks.push(chunk)
      })
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        const answer = { status, headers, json: jsonOf(Buffer.concat(chunks)) }
        resolve({ type: 'answered', answer, sentAt, answeredAt })
      })
    })
    request.end(call.body ?? undefined)
  })
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
