import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that may wait behind the one that is being answered. */
const WAITING_MAX = 32

interface Line {
  isBusy: boolean
  readonly waiting: (() => void)[]
}

/**
 * Answers the requests of a connection one after the other (LIMITS-4). Node reads all that a client pipelines
 * and begins every request at once; here the connection is not read while requests wait for an answer.
 */
export function inTurn(
  listener: RequestListener,
  tooMany: (socket: Socket, max: number) => void,
): RequestListener {
  const lines = new WeakMap<Socket, Line>()
  return (request: IncomingMessage, response) => {
    const { socket } = request
    const line = lines.get(socket) ?? { isBusy: false, waiting: [] }
    lines.set(socket, line)
    const begin = (): void => {
      line.isBusy = true
      // The time to take the answer before this one is over.
      socket.setTimeout(0)
      response.once('close', () => {
        line.isBusy = false
        const next = line.waiting.shift()
        if (line.waiting.length === 0) socket.resume()
        next?.()
      })
      listener(request, response)
    }
    if (!line.isBusy) return begin()
    if (line.waiting.length >= WAITING_MAX) {
      // All that was read together comes here, one by one.
      if (!socket.destroyed) tooMany(socket, WAITING_MAX)
      return
    }
    line.waiting.push(begin)
    socket.pause()
  }
}
