// The booking site of the demo in a process of its own: so many seats from a moment on, and not one more. Its
// orders come in a line on standard input, its address goes out on standard output.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'

interface Orders {
  readonly opensAt: number
  readonly seats: number
}

const lines = createInterface({ input: process.stdin })
lines.once('line', (line) => serve(JSON.parse(line) as Orders))
lines.once('close', () => process.exit(0))

function serve({ opensAt, seats }: Orders): void {
  /** Users who have a seat; a second one of somebody would show here. */
  const booked: string[] = []
  const answered = new Map<string, { status: number; body: object }>()
  const book = (user: string, key: string) => {
    if (Date.now() < opensAt) return { status: 409, body: { error: 'not_yet_open' } }
    const before = answered.get(key)
    if (before !== undefined) return before
    if (booked.length >= seats) return { status: 409, body: { error: 'sold_out' } }
    const answer = { status: 201, body: { number: `B-${1_000 + booked.push(user)}` } }
    answered.set(key, answer)
    return answer
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isBooking = request.method === 'POST' && request.url === '/bookings'
    const { status, body } = isBooking
      ? book(await userOf(request), String(request.headers['idempotency-key']))
      : { status: 200, body: { booked } }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
  })
}

async function userOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return (JSON.parse(Buffer.concat(chunks).toString('utf8')) as { user: string }).user
}
