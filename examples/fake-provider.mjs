// A provider of models on loopback, for the examples: it speaks as much of the OpenAI API as they need, counts requests and
// tokens over the last second, says so in its headers, and answers 429 when there are too many.
import { once } from 'node:events'
import { createServer } from 'node:http'

const WINDOW_MS = 1_000

/** Starts one; `calls` counts what it was asked and what it refused. */
export async function startFakeProvider({ requests, tokens }) {
  const seen = []
  const calls = { answered: 0, refused: 0, tokens: 0 }
  const answer = async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const { messages, max_tokens: most } = JSON.parse(Buffer.concat(chunks).toString())
    const used = messages[0].content.length + Math.ceil(most / 2)
    const now = performance.now()
    while (seen.length > 0 && now - seen[0].at >= WINDOW_MS) seen.shift()
    const before = seen.reduce((sum, one) => sum + one.used, 0)
    const isFull = seen.length + 1 > requests || before + used > tokens
    if (!isFull) seen.push({ at: now, used })
    response.setHeader('content-type', 'application/json')
    response.setHeader('x-ratelimit-limit-requests', requests)
    response.setHeader('x-ratelimit-remaining-requests', Math.max(0, requests - seen.length))
    if (isFull) {
      calls.refused++
      response.writeHead(429, { 'retry-after-ms': '200' })
      response.end(JSON.stringify({ error: { message: 'slow down', type: 'rate_limit' } }))
      return
    }
    calls.answered++
    calls.tokens += used
    const message = { role: 'assistant', content: 'as you wish' }
    response.end(JSON.stringify({ choices: [{ message }], usage: { total_tokens: used } }))
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}/v1`, calls, stop }
}
