import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A line to a server that can be cut, as networks are: both ends see their connection end. */
export class CuttableLine {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #opened: (() => void)[] = []
  /** Lets nobody through while it is set. */
  isDown = false
  /** How many connections were made. */
  connections = 0

  private constructor(server: Server) {
    this.#server = server
  }

  /** Leads to the port of a server on this machine. */
  static async to(port: number): Promise<CuttableLine> {
    const server = createServer()
    const line = new CuttableLine(server)
    server.on('connection', (near) => line.#join(near, port))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return line
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves with the next connection. */
  nextConnection(): Promise<void> {
    return new Promise((resolve) => this.#opened.push(resolve))
  }

  /** Lets nothing through any more, and tells neither end: as when a cable is pulled. */
  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe()
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(near: Socket, port: number): void {
    if (this.isDown) {
      near.destroy()
      return
    }
    this.connections++
    const far = connect(port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
    for (const tell of this.#opened.splice(0)) tell()
  }
}
