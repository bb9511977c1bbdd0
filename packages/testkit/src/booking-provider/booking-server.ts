import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Arrival, BookingRules } from './booking-rules.ts'
import { BookingSite, type SiteAnswer, type SiteCall } from './booking-site.ts'

/**
 * The site over HTTP.
 *
 *     POST   /orgs/ORG/events/EVENT/bookings               {"user": …}       books
 *     GET    /orgs/ORG/events/EVENT/bookings?user=…                           looks up
 *     POST   /orgs/ORG/events/EVENT/holds                  {"user": …}       holds
 *     POST   /orgs/ORG/events/EVENT/holds/HOLD/commit      {"user": …}       books what is held
 *     DELETE /orgs/ORG/events/EVENT/holds/HOLD                                gives it back
 *     GET    /admin/seen                                                      all that it knows
 */
export async function serveBookings(
  rules: BookingRules,
  port = 0,
): Promise<{ readonly url: string; readonly server: Server }> {
  const site = new BookingSite(rules)
  const server = createServer((request, response) => {
    const at = now()
    void handle({ site, rules, at }, request, response).catch(() => response.destroy())
  })
  // What is not answered must not be closed by the server either.
  server.requestTimeout = 0
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

interface Serving {
  readonly site: BookingSite
  readonly rules: BookingRules
  readonly at: number
}

async function handle(
  { site, rules, at }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://site')
  if (url.pathname === '/admin/seen') {
    return send(response, rules, { status: 200, body: site.seen(at) })
  }
  const call = await readCall(request, url)
  if (call === null) return send(response, rules, { status: 404, body: {} })
  const answer = site.serve(call, at)
  if (answer.fate === 'cut') response.destroy()
  if (answer.fate !== undefined) return
  if (rules.latencyMs > 0) setTimeout(() => send(response, rules, answer), rules.latencyMs)
  else send(response, rules, answer)
}

const PATH = /^\/orgs\/([^/]+)\/events\/([^/]+)\/(bookings|holds)(?:\/([^/]+)(\/commit)?)?$/

async function readCall(request: IncomingMessage, url: URL): Promise<SiteCall | null> {
  const match = PATH.exec(url.pathname)
  if (match === null) return null
  const [, org = '', event = '', what, holdId, commit] = match
  const call = callOf(request.method ?? '', what === 'holds', holdId !== undefined, commit)
  if (call === null) return null
  const body = await readBody(request)
  const header = request.headers['idempotency-key']
  const key = header ?? body['idempotency_key'] ?? url.searchParams.get('idempotency_key')
  return {
    call,
    org: decodeURIComponent(org),
    event: decodeURIComponent(event),
    user: typeof body['user'] === 'string' ? body['user'] : (url.searchParams.get('user') ?? ''),
    key: typeof key === 'string' ? key : null,
    holdId: holdId === undefined ? null : decodeURIComponent(holdId),
    token: /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null,
  }
}

function callOf(
  method: string,
  isHold: boolean,
  hasId: boolean,
  commit: string | undefined,
): Arrival['call'] | null {
  if (!isHold) return hasId ? null : method === 'POST' ? 'book' : method === 'GET' ? 'lookup' : null
  if (!hasId) return method === 'POST' ? 'hold' : null
  if (commit !== undefined) return method === 'POST' ? 'commit' : null
  return method === 'DELETE' ? 'release' : null
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

function send(response: ServerResponse, rules: BookingRules, answer: SiteAnswer): void {
  const { status, body, retryAfterSecs } = answer
  const said = Date.now() + rules.clockSkewMs
  response.sendDate = false
  response.writeHead(status, {
    'content-type': 'application/json',
    date: new Date(said).toUTCString(),
    ...(retryAfterSecs === undefined
      ? {}
      : {
          'retry-after':
            rules.rateLimit?.asDate === true
              ? new Date(said + 1_000 * retryAfterSecs).toUTCString()
              : String(retryAfterSecs),
        }),
  })
  response.end(JSON.stringify(body))
}

/** The wall clock with fractions of a millisecond. */
function now(): number {
  return performance.timeOrigin + performance.now()
}
