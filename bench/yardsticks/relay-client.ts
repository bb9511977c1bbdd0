import { once } from 'node:events'
import { WebSocket } from 'ws'

export const WORKER_PATH = '/worker'

/** A connection to the relay whose `send` resolves with the answer. */
export class RelayClient {
  readonly #socket: WebSocket
  readonly #answered: (() => void)[] = []

  private constructor(socket: WebSocket, onOffer: (text: string) => void) {
    this.#socket = socket
    socket.on('message', (data: Buffer) => {
      const text = data.toString()
      // Messages are answered in their order, so an answer is only a count.
      if (text.startsWith('{')) onOffer(text)
      else for (const answered of this.#answered.splice(0, Number(text))) answered()
    })
  }

  static async open(url: string, onOffer: (text: string) => void = () => {}): Promise<RelayClient> {
    const socket = new WebSocket(url)
    await once(socket, 'open')
    return new RelayClient(socket, onOffer)
  }

  send(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#answered.push(resolve)
      this.#socket.send(text)
    })
  }

  close(): void {
    this.#socket.terminate()
  }
}
