import type { ServerResponse } from 'node:http'

/** Sends a whole answer. */
export function reply(
  response: ServerResponse,
  status: number,
  body: string | Uint8Array | null,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.destroyed || response.headersSent) return
  const length =
    body === null ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length
  response.writeHead(status, {
    ...(status === 204 ? {} : { 'content-length': String(length) }),
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  response.end(body)
}

/** A refusal for people, outside of JSON-RPC. */
export function refuse(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  reply(response, status, `${text}\n`, { 'content-type': 'text/plain; charset=utf-8', ...headers })
}

/** A body over the limit. The rest of it is not read, so the connection cannot be used any more. */
export function refuseLong(response: ServerResponse, limits: { readonly bodyBytes: number }): void {
  const text = `the body is over the limit of ${limits.bodyBytes} bytes`
  refuse(response, 413, text, { connection: 'close' })
}
