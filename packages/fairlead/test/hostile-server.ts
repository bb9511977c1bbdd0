import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { METHODS } from '@fairlead/protocol'
import { WebSocketServer } from 'ws'

/** All that a terminal acts on, and a line that claims to be ours. */
export const HOSTILE = `\u001b[31mred\u001b]0;title\u0007\u009b2J\u007f\u202e\u2066\u061c\u200f\u2028\r\nFORGED line\t`

interface Asked {
  readonly id: number
  readonly method: string
}

/** A server that answers each call with the example of its method, with hostile text behind every text in it. */
export class HostileServer {
  readonly #http: Server
  /** Calls are refused, with hostile text in the error. */
  isRefusing = false

  private constructor() {
    this.#http = createServer()
    new WebSocketServer({ server: this.#http }).on('connection', (socket) => {
      socket.on('message', (data: Buffer) => {
        const asked = JSON.parse(data.toString()) as Asked | readonly Asked[]
        const told = Array.isArray(asked)
          ? asked.map((one: Asked) => this.#reply(one))
          : this.#reply(asked as Asked)
        socket.send(JSON.stringify(told))
      })
    })
  }

  static async open(): Promise<HostileServer> {
    const server = new HostileServer()
    await new Promise<void>((done) => server.#http.listen(0, '127.0.0.1', done))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  close(): void {
    this.#http.closeAllConnections()
    this.#http.close()
  }

  #reply({ id, method }: Asked): object {
    return { jsonrpc: '2.0', id, ...this.#answer(method) }
  }

  #answer(method: string): object {
    if (this.isRefusing) {
      const data = { code: 'NotFound', retryable: false, details: { id: HOSTILE } }
      return { error: { code: -32004, message: `there is no ${HOSTILE}`, data } }
    }
    const known = METHODS[method as keyof typeof METHODS]
    return { result: poisoned({ ...known?.example.result, ...ENDS[method] }) }
  }
}

/** What has an end, so that commands that ask until then do end. */
const ENDS: Readonly<Record<string, object>> = {
  'aicf.listJobs': { cursor: null },
  'audit.list': { cursor: null },
  'signup.list': { cursor: null },
  'limits.list': { cursor: null },
}

/** Fields that say in code what follows; all other text is somebody's. */
const WORDS = /^(?:kind|type|mode|state|status|content_type|output)$/
/** Text that the server itself has written, in lines; it has escaped what is somebody's. */
const OWN_TEXT = /^(?:text|confirmation|order)$/

function poisoned(value: unknown, field = ''): unknown {
  if (typeof value === 'string') {
    if (WORDS.test(field)) return value
    return `${value}${OWN_TEXT.test(field) ? HOSTILE.replace('\n', '') : HOSTILE}`
  }
  if (Array.isArray(value)) return value.map((one) => poisoned(one, field))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, name)]))
}
