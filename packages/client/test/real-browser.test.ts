import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Engine, openEngine } from '@fairlead/engine'
import { type RunningServer, startServer } from '@fairlead/server'
import { MemoryStore } from '@fairlead/testkit'
import { CHROMIUM_ARGS, chromiumPath } from '@fairlead/testkit/chromium'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect, type NodeClient, type Worker } from '../src/index.ts'
import { CuttableLine } from './cuttable-line.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const TOKEN = 'flt_secret'
const TOPICS = ['jobEnqueued', 'jobCompleted']
/** A machine that is busy with other tests may take its time to start a browser. */
const PATIENCE_MS = 180_000

let browser: Browser
let pages: Server
let engine: Engine
let server: RunningServer
let line: CuttableLine
let node: NodeClient
let worker: Worker

beforeAll(async () => {
  pages = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://here').pathname
    const isModule = /^\/packages\/[a-z]+\/dist\/[a-z0-9/-]+\.js$/.test(path)
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html')
    response.end(isModule ? readFileSync(join(root, path)) : htmlOf(line.url))
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  engine = await openEngine({ store: new MemoryStore() })
  const identity = { tokenId: 't', role: 'admin', subject: 'acme', tier: 'PRO' } as const
  server = await startServer({
    engine,
    tokens: { verify: (token) => (token === TOKEN ? identity : null), isEmpty: () => false },
    listen: { host: '127.0.0.1', port: 0 },
    origins: [pageUrl()],
  })
  line = await CuttableLine.to(Number(new URL(server.url).port))
  node = connect(server.url, { token: TOKEN })
  worker = node.worker({
    providerId: 'provider:echo',
    kinds: ['task'],
    concurrency: 2,
    drainMs: null,
    handler: ({ payload }) => `did ${JSON.stringify(payload.args)}`,
  })
  browser = await chromium.launch({ executablePath: chromiumPath(), args: [...CHROMIUM_ARGS] })
}, PATIENCE_MS)

afterAll(async () => {
  await browser?.close()
  await worker?.stop({ graceMs: 0 })
  await node?.close()
  await line?.close()
  await server?.close()
  await engine?.close()
  pages?.close()
}, PATIENCE_MS)

it(
  'a page enqueues, reads a result, and follows events over a lost connection without a gap',
  async () => {
    const page = await browser.newPage()
    const troubles: string[] = []
    page.on('pageerror', (error) => troubles.push(error.message))
    await page.goto(pageUrl())
    await page.waitForFunction('window.isReady', undefined, { timeout: PATIENCE_MS })

    const first = await enqueued(page, 1)
    expect(first.text).toBe('did {"n":1}')

    // While the line is down somebody else's job comes and goes; the page hears of it afterwards.
    line.isDown = true
    line.cut()
    const { task_id } = await node.enqueue({
      kind: 'task',
      payload: { name: 'echo', args: { n: 2 } },
    })
    await node.waitForResult(task_id)
    line.isDown = false
    const third = await enqueued(page, 3)
    expect(third.text).toBe('did {"n":3}')
    const isHeard = `seen.some(({ type, jobId }) => type === 'jobCompleted' && jobId === '${third.task_id}')`
    await page.waitForFunction(isHeard, undefined, { timeout: PATIENCE_MS })

    const { entries } = await node.call('audit.list', { limit: 1_000 })
    const due = entries.filter(({ action }) => TOPICS.includes(action)).map(({ seq }) => seq)
    expect(await page.evaluate('seen.map(({ seq }) => seq)')).toEqual(due)
    expect(due.length).toBe(6)
    expect(line.connections).toBeGreaterThan(1)
    expect(troubles).toEqual([])
  },
  PATIENCE_MS,
)

function pageUrl(): string {
  return `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
}

async function enqueued(page: Page, n: number): Promise<{ task_id: string; text: string }> {
  return page.evaluate(`(async () => {
    const payload = { name: 'echo', args: { n: ${n} } }
    const { task_id } = await client.enqueue({ kind: 'task', payload })
    const { text } = await client.waitForResult(task_id)
    return { task_id, text }
  })()`)
}

/** The page that a user of the client would write, on the files that the build has made. */
function htmlOf(url: string): string {
  const imports = Object.fromEntries(
    [...importsOf(join(root, 'packages/client/dist/browser.js'))].map((name) => [
      name,
      urlOf(name),
    ]),
  )
  return `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module">
  import { connect } from '/packages/client/dist/browser.js'
  window.client = connect('${url}', { token: '${TOKEN}' })
  window.seen = []
  const events = client.events({ topics: ${JSON.stringify(TOPICS)} })
  await events.ready()
  window.isReady = true
  for await (const event of events) seen.push(event)
</script>`
}

/** The names of packages that a module and all that it loads import. */
function importsOf(file: string, seen = new Set<string>(), names = new Set<string>()): Set<string> {
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const found = text.matchAll(/^(?:import|export)\s(?:[^'";]*\sfrom\s)?['"]([^'"]+)['"]/gm)
  for (const [, from = ''] of found) {
    const isOwn = from.startsWith('.')
    if (!isOwn) names.add(from)
    const path = isOwn ? join(file, '..', from) : fileURLToPath(import.meta.resolve(from))
    if (!seen.has(path)) importsOf(path, seen, names)
  }
  return names
}

function urlOf(name: string): string {
  const path = fileURLToPath(import.meta.resolve(name))
  return path.slice(path.lastIndexOf('/packages/'))
}
