import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PageFile, PageFiles } from '../dashboard/page-files.ts'
import { refuse, reply } from './reply.ts'

/** Nothing from anywhere else, no script or style in the page itself, and no page around it. */
const SECURITY = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const

/** Paths below these are never views of the page. */
const NO_VIEWS = /^\/(?:assets|v1)\//

/**
 * A file of the page; else the page itself where the path may be one of its views: these are told apart by the page
 * (PAGE-3). False if the path is neither.
 */
export function sendPage(
  files: PageFiles,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const file = files.get(path) ?? (isView(path) ? files.index : undefined)
  if (file === undefined) return false
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    refuse(response, 405, 'this path takes GET', { allow: 'GET, HEAD' })
  } else sendFile(file, request, response)
  return true
}

/** A view has no file extension in its last part. */
function isView(path: string): boolean {
  return !NO_VIEWS.test(path) && !path.slice(path.lastIndexOf('/')).includes('.')
}

function sendFile(file: PageFile, request: IncomingMessage, response: ServerResponse): void {
  const { type, etag, bytes, gzipped, isImmutable } = file
  const headers = {
    ...SECURITY,
    etag,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
  }
  if (isKnown(request.headers['if-none-match'], etag)) return reply(response, 304, null, headers)
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(
    String(request.headers['accept-encoding'] ?? ''),
  )
  const isPacked = gzipped !== null && takesGzip
  reply(response, 200, isPacked ? gzipped : bytes, {
    ...headers,
    'content-type': type,
    ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
  })
}

/** A proxy that packs what it passes on marks the tag as weak. */
function isKnown(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false
  return given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}
