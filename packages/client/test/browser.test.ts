import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEngine } from '@fairlead/engine'
import { startServer } from '@fairlead/server'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { connect } from '../src/browser.ts'

const dist = join(import.meta.dirname, '..', 'dist')

/** Every module that a program loads, by its path; packages by their names. */
function graphOf(file: string, seen = new Map<string, string>()): Map<string, string> {
  const text = readFileSync(file, 'utf8')
  seen.set(file, text)
  for (const [, from = ''] of text.matchAll(
    /^(?:import|export)\s(?:[^'";]*\sfrom\s)?['"]([^'"]+)['"]/gm,
  )) {
    const path = from.startsWith('.')
      ? join(dirname(file), from)
      : from.startsWith('@fairlead/')
        ? fileURLToPath(import.meta.resolve(from))
        : null
    if (path === null) seen.set(from, '')
    else if (!seen.has(path)) graphOf(path, seen)
  }
  return seen
}

describe('the client in a browser', () => {
  const before = globalThis.WebSocket
  afterEach(() => {
    globalThis.WebSocket = before
  })

  it('loads nothing of Node, no schema library and no worker', () => {
    const graph = graphOf(join(dist, 'browser.js'))
    expect(graph.size).toBeGreaterThan(8)
    const names = [...graph.keys()]
    expect(names.filter((name) => !name.startsWith('/'))).toEqual([])
    expect(names.filter((name) => /worker|zod|hash\.js/.test(name))).toEqual([])
    const words = /\b(?:Buffer|process|require|setImmediate)\b/
    const code = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    expect(names.filter((name) => words.test(code(graph.get(name) ?? '')))).toEqual([])
  })

  it('talks to a server through the WebSocket that is there, and sends its token without a header', async () => {
    // The same interface as that of a browser: an address and protocols, and nothing else.
    class PlainWebSocket extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols)
      }
    }
    globalThis.WebSocket = PlainWebSocket as unknown as typeof globalThis.WebSocket
    const engine = await openEngine({ store: new MemoryStore() })
    const identity = { tokenId: 't', role: 'requester', subject: 'acme', tier: 'PRO' } as const
    const tokens = {
      verify: (token: string) => (token === 'flt_secret' ? identity : null),
      isEmpty: () => false,
    }
    const server = await startServer({ engine, tokens, listen: { host: '127.0.0.1', port: 0 } })
    const client = connect(server.url, { token: 'flt_secret' })
    const events = client.events({ topics: ['jobEnqueued'] })
    await events.ready()
    const { task_id } = await client.aiEnqueue('m', 'hi', { max_tokens: 1 })
    expect((await events.next()).value).toMatchObject({ jobId: task_id })
    expect((await client.getJob(task_id)).job.request).toMatchObject({ tier: 'PRO' })
    const stranger = connect(server.url)
    // A browser does not say why a WebSocket was refused: that was asked for over HTTP.
    await expect(stranger.getJob(task_id)).rejects.toMatchObject({ code: 'Unauthorized' })
    await client.close()
    await stranger.close()
    await server.close()
    await engine.close()
  })
})
