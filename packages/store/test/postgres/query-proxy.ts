import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A network between a store and its server. It can cut the connection of some statements: before the statement reaches the
 * server, or after the server has carried it out, when only the answer is missing.
 */
export class QueryProxy {
  readonly url: string
  /** Names of statements, or texts, with the zero behind them. */
  readonly #names: readonly string[]
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #times = 0
  #when: 'before' | 'after' = 'before'

  private constructor(server: Server, url: string, names: readonly string[]) {
    this.#server = server
    this.#names = names
    this.url = url
  }

  static async open(target: string, names: readonly string[]): Promise<QueryProxy> {
    const { hostname, port } = new URL(target)
    let proxy: QueryProxy | null = null
    const server = createServer((near) => proxy?.join(near, connect(Number(port), hostname)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = new URL(target)
    const address = server.address()
    url.port = String(typeof address === 'object' ? address?.port : '')
    proxy = new QueryProxy(server, url.href, names)
    return proxy
  }

  /** The next so many of them are cut off. */
  cut(times: number, when: 'before' | 'after' = 'before'): void {
    this.#times = times
    this.#when = when
  }

  /** Connects both ends. */
  join(near: Socket, far: Socket): void {
    let isLost = false
    const end = (): void => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        end()
      })
    }
    near.on('data', (data) => {
      const isMeant = this.#names.some((name) => data.includes(name))
      if (isMeant && this.#times > 0 && !isLost) {
        this.#times--
        if (this.#when === 'before') return end()
        isLost = true
      }
      far.write(data)
    })
    far.on('data', (data) => {
      if (!isLost) near.write(data)
      // Ready for the next query: the server has committed.
      else if (data.subarray(-6, -1).equals(READY)) end()
    })
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

const READY = Buffer.from([0x5a, 0, 0, 0, 5])
