import type { CallOptions } from './connection.ts'

/** One connection of a line, on which subscriptions live until it ends. */
export interface LineSocket {
  call(method: string, params: object): Promise<unknown>
  /** Resolves when it is over. */
  readonly closed: Promise<unknown>
}

/** What a client hears from its line. */
export interface LineListener {
  readonly onNotification: (method: string, params: unknown) => void
  /** There is a socket, another than before. */
  readonly onOpen: (socket: LineSocket) => void
  /** There will be none, though somebody listens. */
  readonly onFail: (error: unknown) => void
}

/** What a client talks over: a connection to a server, or the methods of a server in the same process. */
export interface Line {
  open(): Promise<void>
  call(method: string, params: object, options?: CallOptions): Promise<unknown>
  /** Keeps it up even without calls, until it is let go again. */
  hold(): () => void
  readonly isClosed: boolean
  close(): Promise<void>
}

export type OpenLine = (listener: LineListener) => Line
