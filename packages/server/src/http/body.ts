import type { IncomingMessage } from 'node:http'
import { FairleadError } from '@fairlead/core'
import { Tally } from './tally.ts'

const RETRY_MS = 1_000

/** Reads the bodies of requests. Of each token so many bytes are in memory at most (LIMITS-1). */
export class Bodies {
  readonly #maxBytes: number
  readonly #held: Tally

  constructor(limits: { readonly bodyBytes: number; readonly bodiesBytes: number }) {
    this.#maxBytes = limits.bodyBytes
    this.#held = new Tally(limits.bodiesBytes)
  }

  /** Holds the body until `act` is over; null stands for one that is longer than allowed. */
  async use<Result>(
    request: IncomingMessage,
    token: string,
    act: (body: Buffer | null) => Result | Promise<Result>,
  ): Promise<Result> {
    const announced = Number(request.headers['content-length'] ?? this.#maxBytes)
    if (announced > this.#maxBytes) return act(null)
    if (!this.#held.take(token, announced)) {
      throw new FairleadError(
        'RateLimited',
        `too many long requests at once; wait for their answers, or ${RETRY_MS} ms`,
        { retry_after_ms: RETRY_MS },
      )
    }
    try {
      return await act(await read(request, this.#maxBytes))
    } finally {
      this.#held.give(token, announced)
    }
  }
}

function read(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) {
        request.removeAllListeners('data')
        resolve(null)
      } else chunks.push(chunk)
    })
    request.on('end', () =>
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
    )
    request.on('error', reject)
    request.on('close', () => reject(new Error('the request was cut off')))
  })
}
