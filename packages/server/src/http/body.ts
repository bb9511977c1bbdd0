import type { IncomingMessage } from 'node:http'

/** The body of a request, or null if it is longer than allowed. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes) return Promise.resolve(null)
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
