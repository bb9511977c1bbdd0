import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { reply } from './reply.ts'

/** The description of all methods as it is sent: made once, because it is long. */
export interface OpenRpcFile {
  readonly bytes: Uint8Array
  readonly etag: string
}

export function openRpcAsFile(document: object): OpenRpcFile {
  const bytes = Buffer.from(JSON.stringify(document))
  const digest = createHash('sha256').update(bytes).digest('base64url')
  return { bytes, etag: `"${digest.slice(0, 22)}"` }
}

/** Who has it already is told so. */
export function sendOpenRpc(
  { bytes, etag }: OpenRpcFile,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const headers = { etag, 'cache-control': 'no-cache' }
  if (request.headers['if-none-match'] === etag) return reply(response, 304, null, headers)
  reply(response, 200, bytes, { ...headers, 'content-type': 'application/json' })
}
