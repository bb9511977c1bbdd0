import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Finding, fail, ok } from './check.ts'

const ANSWER_MS = 3_000

/**
 * Says PING to a Redis server in its own protocol: one question needs no client library, and what is
 * asked about is the server, not the library.
 */
export async function checkRedis(url: string): Promise<Finding> {
  const { hostname, port, username, password, protocol } = new URL(url)
  const address = `${hostname}:${port || 6379}`
  const words = [...auth(decodeURIComponent(username), decodeURIComponent(password)), ['PING']]
  try {
    const answers = await ask(
      { host: hostname, port: Number(port || 6379), isTls: protocol === 'rediss:' },
      words,
    )
    const refusal = answers.find((line) => line.startsWith('-'))
    if (refusal === undefined) return ok('redis', `Redis answers at ${address}.`)
    const advice = /NOAUTH|WRONGPASS|invalid password/.test(refusal)
      ? 'Put the right password into redis.url: redis://user:password@host:port'
      : 'Look at the log of the Redis server.'
    return fail('redis', `Redis at ${address} refuses: ${refusal.slice(1)}.`, advice)
  } catch (error) {
    const advice = 'Start Redis there, correct redis.url, or remove it to keep limits in the store.'
    return fail(
      'redis',
      `Redis at ${address} does not answer: ${(error as Error).message}.`,
      advice,
    )
  }
}

function auth(user: string, password: string): string[][] {
  if (password === '') return []
  return [user === '' ? ['AUTH', password] : ['AUTH', user, password]]
}

/** One line of answer for each command. */
function ask(
  to: { readonly host: string; readonly port: number; readonly isTls: boolean },
  commands: readonly (readonly string[])[],
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const { host, port, isTls } = to
    const socket: Socket = isTls
      ? connectTls({ host, port, servername: host })
      : connectPlain({ host, port })
    let heard = ''
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`silent for ${ANSWER_MS} ms`)))
    socket.once('error', reject)
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard += text
      const lines = heard.split('\r\n').slice(0, -1)
      if (lines.length < commands.length) return
      socket.destroy()
      resolve(lines)
    })
    socket.once('close', () => reject(new Error('it hung up')))
    socket.write(commands.map(encoded).join(''))
  })
}

function encoded(words: readonly string[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  return `*${words.length}\r\n${parts.join('')}`
}
