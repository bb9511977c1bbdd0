import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The event. */
  readonly data: { readonly type: string; readonly seq: number; readonly [field: string]: unknown }
  readonly job: { readonly [field: string]: unknown } | null
}

/** The answer to a delivery; null lets it wait for as long as it likes. */
type Answer = (received: Received, response: ServerResponse) => number | null

/** An endpoint of webhooks over real HTTP, which answers as a test likes. */
export class HookReceiver {
  readonly received: Received[] = []
  answer: Answer = () => 204
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response))
  }

  static async open(host = '127.0.0.1', port = 0): Promise<HookReceiver> {
    const receiver = new HookReceiver()
    receiver.#server.listen(port, host)
    await once(receiver.#server, 'listening')
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/in`
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await request.toArray()).join('')
    const { data, job } = JSON.parse(body) as Received
    const received = { headers: request.headers, body, data, job }
    this.received.push(received)
    const status = this.answer(received, response)
    if (status !== null) response.writeHead(status).end()
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
