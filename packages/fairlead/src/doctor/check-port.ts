import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { createServer } from 'node:net'
import { BasePath } from '@fairlead/server'
import type { Config } from '../config/load-config.ts'
import { escaped } from '../terminal/escaped.ts'
import { type Finding, fail, ok, warn } from './check.ts'

const ANSWER_MS = 2_000

/** Can the server listen where it is told to? Or does one already? */
export async function checkPort(server: Config['settings']['server']): Promise<Finding> {
  const { host, port } = server
  const address = `${host}:${port}`
  const refusal = await listenOnce(host, port)
  if (refusal === null) return ok('port', `${address} is free.`)
  if (refusal === 'EADDRINUSE') {
    if (await isLive(server)) return ok('port', `A Fairlead server answers on ${address}.`)
    const advice = 'Stop that program, or set server.port to another port.'
    return fail('port', `Another program listens on ${address}.`, advice)
  }
  if (refusal === 'EACCES') {
    const advice = 'Set server.port to 1024 or higher, or grant the right to bind low ports.'
    return fail('port', `This user may not listen on ${address}.`, advice)
  }
  const advice = 'Set server.host to an address of this machine: 127.0.0.1, or 0.0.0.0 for all.'
  return fail('port', `Nothing can listen on ${address} (${refusal}).`, advice)
}

/** Does the server take work? Asked where one is running. */
export async function checkServer(url: string): Promise<Finding> {
  const base = url.replace(/^ws/, 'http').replace(/\/+$/, '')
  try {
    const answer = await fetch(`${base}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) })
    if (answer.ok) return ok('server', `${base} is ready.`)
    const why = escaped((await answer.text()).trim().slice(0, 200))
    return fail('server', `${base} is not ready: ${why}`, 'Look at its log; its disk may be full.')
  } catch {
    return warn('server', `No server answers at ${base}.`, 'Start one: fairlead serve')
  }
}

async function isLive({ host, port, tlsCert, basePath }: Config['settings']['server']) {
  const path = `${new BasePath(basePath ?? '').text}/livez`
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const name = reached.includes(':') ? `[${reached}]` : reached
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    if (tlsCert !== null) return await answersTls(reached, port, path, signal)
    return (await fetch(`http://${name}:${port}${path}`, { signal })).ok
  } catch {
    return false
  }
}

/** Nothing is sent that anybody could not read: the name in the certificate need not be this address. */
async function answersTls(
  host: string,
  port: number,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  const asked = get({ host, port, path, signal, rejectUnauthorized: false })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode === 200
}

/** The code of the refusal; null if it went well. */
function listenOnce(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}
