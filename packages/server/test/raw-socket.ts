import { type CborValue, decodeCbor } from '@fairlead/core'
import { jsonOf } from '@fairlead/core/internal'
import { errorOfRpc, type RpcErrorObject } from '@fairlead/protocol'
import WebSocket from 'ws'

export interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: unknown
  readonly error?: RpcErrorObject
}

/** A WebSocket and everything that came over it, for tests that want to see each message. */
export class RawSocket {
  readonly opened: Promise<void>
  readonly closed: Promise<{ code: number; reason: string }>
  readonly messages: Message[] = []
  /** How many messages each frame had; 0 is one that was no batch. */
  readonly frames: number[] = []
  readonly ws: WebSocket
  #nextId = 1
  #waiting: (() => void)[] = []

  constructor(url: string, options: { protocols: string[]; headers: Record<string, string> }) {
    this.ws = new WebSocket(url, options.protocols, { headers: options.headers })
    this.opened = new Promise((resolve, reject) => {
      this.ws.once('open', () => resolve())
      this.ws.once('error', reject)
    })
    this.closed = new Promise((resolve) => {
      this.ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() }))
    })
    this.ws.on('error', () => undefined)
    this.ws.once('close', () => this.#tell())
    this.ws.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary))
  }

  /** Sends anything; text as it is. */
  send(message: unknown): void {
    const isRaw = typeof message === 'string' || message instanceof Uint8Array
    this.ws.send(isRaw ? message : JSON.stringify(message))
  }

  /** The result of a call, or its error as a rejection. */
  async call(method: string, params?: unknown): Promise<Record<string, unknown>> {
    const id = this.#nextId++
    this.send({ jsonrpc: '2.0', id, method, params })
    const { result, error } = await this.find((message) => message.id === id)
    if (error !== undefined) throw errorOfRpc(error)
    return result as Record<string, unknown>
  }

  /** The first message that fits, of those that came and those that will. */
  async find(fits: (message: Message) => boolean): Promise<Message> {
    for (let looked = 0; ; ) {
      for (; looked < this.messages.length; looked++) {
        const message = this.messages[looked] as Message
        if (fits(message)) return message
      }
      if (this.ws.readyState === this.ws.CLOSED) throw new Error('the socket was closed')
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  notification(method: string): Promise<Message> {
    return this.find((message) => message.method === method)
  }

  /** All events so far, in the order in which they came. */
  get events(): { type: string; seq: number; [field: string]: unknown }[] {
    return this.messages
      .filter(({ method }) => method === 'events.notify')
      .flatMap(({ params }) => params?.['events'] as { type: string; seq: number }[])
  }

  /** Waits until an event has come. */
  async until(seq: number): Promise<void> {
    await this.find(({ method, params }) => {
      const events = method === 'events.notify' ? (params?.['events'] as { seq: number }[]) : []
      return events.some((event) => event.seq >= seq)
    })
  }

  terminate(): void {
    this.ws.terminate()
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const read: unknown = isBinary
      ? jsonOf(decodeCbor(data) as CborValue)
      : JSON.parse(data.toString('utf8'))
    this.frames.push(Array.isArray(read) ? read.length : 0)
    this.messages.push(...((Array.isArray(read) ? read : [read]) as Message[]))
    this.#tell()
  }

  #tell(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}
