import { FairleadError } from '@fairlead/core/errors'
import { BEARER_PROTOCOL_PREFIX } from '@fairlead/protocol/rpc'
import { unreachable } from './lost.ts'

/** The part of a WebSocket that browsers, Node and the package `ws` have in common. */
export interface AnyWebSocket {
  readonly readyState: number
  readonly protocol: string
  send(data: string): void
  close(code?: number, reason?: string): void
  onopen: ((event: unknown) => void) | null
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onerror: ((event: unknown) => void) | null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null
}

/** What only the package `ws` has. */
interface NodeWebSocket extends AnyWebSocket {
  on(event: 'ping', heard: () => void): void
  on(
    event: 'unexpected-response',
    answered: (request: { destroy(): void }, response: HttpAnswer) => void,
  ): void
  terminate(): void
}

interface HttpAnswer extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number
}

interface Opening {
  readonly url: string
  readonly token: string | undefined
  readonly protocols: readonly string[]
  /** A ping of the server came; browsers do not tell. */
  readonly heard: () => void
  readonly timeoutMs: number
}

/** Opens a WebSocket: the global one where there is one, else that of `ws`. */
export async function openWebSocket(opening: Opening): Promise<AnyWebSocket> {
  const Global = (
    globalThis as { WebSocket?: new (url: string, protocols: string[]) => AnyWebSocket }
  ).WebSocket
  if (Global !== undefined) {
    const { url, token, protocols } = opening
    // A browser cannot send headers with a WebSocket: the token goes as a subprotocol of its own.
    const offered =
      token === undefined ? protocols : [...protocols, `${BEARER_PROTOCOL_PREFIX}${token}`]
    return await opened(new Global(url, [...offered]), opening, undefined, () => askWhy(opening))
  }
  return await openWithPackage(opening)
}

async function openWithPackage(opening: Opening): Promise<AnyWebSocket> {
  const { url, token, protocols, heard } = opening
  const { WebSocket } = await import('ws')
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url, [...protocols], {
    headers,
    perMessageDeflate: false,
  }) as unknown as NodeWebSocket
  socket.on('ping', heard)
  const refused = new Promise<FairleadError>((resolve) => {
    socket.on('unexpected-response', (request, response) => {
      void textOf(response).then((text) => {
        resolve(refusalOf(url, response.statusCode ?? 0, text))
        request.destroy()
      })
    })
  })
  return await opened(socket, opening, refused)
}

function opened(
  socket: AnyWebSocket,
  { url, timeoutMs }: Opening,
  refused: Promise<FairleadError> | null = null,
  ask: () => Promise<FairleadError | null> = () => Promise.resolve(null),
): Promise<AnyWebSocket> {
  return new Promise((resolve, reject) => {
    const fail = (error: FairleadError): void => {
      clearTimeout(timer)
      reject(error)
    }
    const failOrAsk = (error: FairleadError): void => {
      void ask().then((said) => fail(said ?? error))
    }
    const timer = setTimeout(() => {
      fail(unreachable(url, `no answer within ${timeoutMs} ms`))
      socket.close()
    }, timeoutMs)
    void refused?.then(fail)
    socket.onopen = () => {
      clearTimeout(timer)
      resolve(socket)
    }
    socket.onerror = (event) => {
      const { message, error } = event as { message?: string; error?: { code?: string } }
      failOrAsk(unreachable(url, error?.code ?? (message || 'the connection failed')))
    }
    socket.onclose = ({ code, reason }) => {
      failOrAsk(unreachable(url, reason || `it was closed with code ${code}`))
    }
  })
}

/**
 * A browser does not say why a WebSocket was not opened, so the same is asked over HTTP. Null where that gives no
 * reason either: the server is away, or does not let this origin read its answers.
 */
async function askWhy({ url, token, timeoutMs }: Opening): Promise<FairleadError | null> {
  const asked = new URL(url.replace(/^ws/, 'http'))
  asked.pathname = asked.pathname.replace(/\/ws$/, '/rpc')
  try {
    const response = await fetch(asked, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"queues.list","params":{}}',
      signal: AbortSignal.timeout(timeoutMs),
    })
    // What the call itself is answered with does not matter here.
    if (![401, 403, 429].includes(response.status)) return null
    return refusalOf(url, response.status, await response.text())
  } catch {
    return null
  }
}

/** The server answered, and not with a WebSocket: it says why, as it does over HTTP. */
function refusalOf(url: string, status: number, text: string): FairleadError {
  const message = messageIn(text)
  const said = message === '' ? '' : `: ${message}`
  switch (status) {
    case 401:
      return new FairleadError('Unauthorized', message || `${url} wants a valid token`)
    case 403:
      return new FairleadError(
        'Forbidden',
        message || `${url} does not let this origin or token in`,
      )
    case 404:
      return new FairleadError(
        'NotFound',
        `${url} is no Fairlead server; give the address that \`fairlead serve\` prints`,
      )
    case 429:
      return new FairleadError('RateLimited', `${url} lets nobody in just now${said}`)
    default:
      return unreachable(url, `it answered ${status}${said}`)
  }
}

async function textOf(response: HttpAnswer): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of response) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length > 10_000) break
    }
  } catch {
    // What was heard has to do.
  }
  return text
}

function messageIn(text: string): string {
  try {
    const { message, error } = JSON.parse(text) as {
      message?: string
      error?: { message?: string } | string
    }
    return message ?? (typeof error === 'string' ? error : (error?.message ?? ''))
  } catch {
    return text.trim().slice(0, 200)
  }
}
