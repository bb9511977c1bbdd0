import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createContext, Script } from 'node:vm'
import { startRedis } from '@fairlead/testkit/servers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LIMIT_SCRIPTS, POOL_SCRIPTS } from '../src/lua-scripts.ts'
import { bundled } from './bundled.ts'

const run = promisify(execFile)
/** An empty one: a bundle finds no package next to it. */
let folder: string
/** For the files of Redis. */
let data: string
let server: Awaited<ReturnType<typeof startRedis>>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-bundle-'))
  data = mkdtempSync(join(tmpdir(), 'fairlead-bundle-redis-'))
  server = await startRedis({ folder: data, keeps: 'none' })
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
  rmSync(data, { recursive: true })
})

/** Runs a bundle on its own, and gives the last line that it printed. */
async function printedBy(code: string, ...args: readonly string[]): Promise<unknown> {
  const file = join(folder, 'application.mjs')
  writeFileSync(file, code)
  expect(readdirSync(folder)).toEqual(['application.mjs'])
  const { stdout } = await run(process.execPath, [file, ...args], { cwd: folder })
  return JSON.parse(stdout.trim().split('\n').at(-1) as string)
}

const LIMITS = `[
  { key: 'k', kind: 'rolling', capacity: 5, windowSecs: 60 },
  { key: 'c', kind: 'concurrency', capacity: 1, timeoutSecs: 60 },
]`

describe('an application in one file', () => {
  it('LIMIT-18: runs with a limiter in memory, without any package next to it', async () => {
    const code = await bundled(
      `import { createLimiter } from '@fairlead/limiter'
      const limiter = createLimiter({ limits: ${LIMITS} })
      const requirements = [{ key: 'k', amount: 4 }]
      const first = await limiter.reserve({ leaseId: 'a', requirements })
      const second = await limiter.reserve({ leaseId: 'b', requirements })
      console.log(JSON.stringify([first.allowed, second.allowed, second.deniedKey]))`,
      { platform: 'node', format: 'esm' },
    )
    expect(code).not.toMatch(/\bfrom ?["']|\bimport ?[("']|\brequire\(/)
    expect(await printedBy(code)).toEqual([true, false, 'k'])
  })

  it.each([
    ['6', {}],
    ['5, from its first release on', { ioredis: 'ioredis-5' }],
  ])(
    'REDIS-8: runs on Redis with the scripts and the client inside: ioredis %s',
    async (release, alias) => {
      const code = await bundled(
        `import { createLimiter, createModelLimiter, redis } from '@fairlead/limiter'
      const [url, name] = process.argv.slice(2)
      const backend = redis(url, { name })
      const limiter = createLimiter({ backend, limits: ${LIMITS} })
      const requirements = [{ key: 'k', amount: 4 }, { key: 'c', amount: 1 }]
      const first = await limiter.reserve({ leaseId: 'a', requirements })
      const second = await limiter.reserve({ leaseId: 'b', requirements })
      const ended = await limiter.complete({ leaseId: 'a', actuals: [{ key: 'k', amount: 1 }] })
      const { held } = await limiter.get('k')
      await limiter.close()
      const models = createModelLimiter({
        backend,
        models: { gpt: { requestsPerMinute: 10 } },
        jobTypes: { chat: { estimatedTokens: 1 } },
      })
      const { data } = await models.run({ jobType: 'chat' }, async ({ model }) => ({ data: model }))
      await models.close()
      console.log(JSON.stringify([first.allowed, second.deniedKey, ended.ok, held, data]))`,
        { platform: 'node', format: 'esm', alias },
      )
      expect(code.includes('node_modules/ioredis-5/')).toBe('ioredis' in alias)
      expect(await printedBy(code, server.url, release)).toEqual([true, 'k', true, 1, 'gpt'])
    },
  )

  it('REDIS-8: has the scripts as they are in the .lua files, each with its SHA1', async () => {
    const script = join(import.meta.dirname, '../../../scripts/lua.mjs')
    await run(process.execPath, [script, '--check'])
    for (const { sha, text } of Object.values({ ...LIMIT_SCRIPTS, ...POOL_SCRIPTS })) {
      expect(createHash('sha1').update(text).digest('hex')).toBe(sha)
    }
  })

  it('REDIS-8: is told by its first call that ioredis is missing, and waits for nothing', async () => {
    const without = await bundled(
      `import { createLimiter, createModelLimiter, createScheduler, redis } from '@fairlead/limiter'
      const told = ({ code, message }) => code + ' ' + message
      const answers = []
      for (const more of [{}, { onBackendLoss: 'local', instances: 2 }]) {
        const backend = redis('redis://127.0.0.1:1', more)
        const limiter = createLimiter({ backend, limits: ${LIMITS} })
        const requirements = [{ key: 'k', amount: 4 }]
        answers.push(await limiter.reserve({ leaseId: 'a', requirements }).catch(told))
        answers.push(await limiter.complete({ leaseId: 'a' }).catch(told))
        const scheduler = createScheduler({ limiter, workers: 1 })
        const job = { tenant: 't', provider: 'p', model: 'm', prompt: '', maxOutputTokens: 1 }
        answers.push(await scheduler.submit({ ...job, execute: async () => ({}) }).catch(told))
        const models = createModelLimiter({
          backend,
          models: { gpt: { requestsPerMinute: 10 } },
          jobTypes: { chat: { estimatedTokens: 1 } },
        })
        answers.push(await models.run({ jobType: 'chat' }, async () => ({})).catch(told))
        await models.close()
      }
      console.log(JSON.stringify(answers))`,
      { platform: 'node', format: 'esm', external: ['ioredis'] },
    )
    const answers = await printedBy(without)
    expect(answers).toHaveLength(8)
    for (const answer of answers as unknown[]) {
      expect(answer).toBe(
        'InvalidParams backend: redis() with an address needs the package ioredis; run: npm install ioredis',
      )
    }
  })
})

/** The globals that browsers and edge runtimes have too; no `process`, no `Buffer`, no `require`. */
function edgeGlobals() {
  const { AbortController, AbortSignal, TextEncoder, crypto, performance, queueMicrotask } =
    globalThis
  return {
    ...{ AbortController, AbortSignal, TextEncoder, clearTimeout, performance, queueMicrotask },
    ...{ console, setTimeout, crypto: { getRandomValues: crypto.getRandomValues.bind(crypto) } },
  }
}

describe('an edge runtime', () => {
  const application = `
    import { createLimiter, createModelLimiter, createScheduler, memory, modelKeys } from '@fairlead/limiter'

    const { rpm, tpm, concurrency } = modelKeys('openai', 'gpt')
    const limiter = createLimiter({
      limits: [
        { key: rpm, kind: 'rolling', capacity: 100, windowSecs: 60 },
        { key: tpm, kind: 'bucket', burst: 1_000, rate: 10 },
        { key: concurrency, kind: 'concurrency', capacity: 2, timeoutSecs: 60 },
        { key: 'é'.repeat(128), kind: 'fixed', capacity: 1, windowSecs: 60 },
      ],
    })
    const scheduler = createScheduler({ limiter, workers: 2 })
    const models = createModelLimiter({
      backend: memory(),
      models: { gpt: { tokensPerMinute: 100 } },
      jobTypes: { b: { estimatedTokens: 10 }, '\u{1f600}': { estimatedTokens: 10 } },
    })

    async function answer() {
      const job = { tenant: 't', provider: 'openai', model: 'gpt', prompt: 'héllo', maxOutputTokens: 1 }
      const text = await scheduler.submit({ ...job, execute: async () => ({ value: 'hi', actualTokens: 5 }) })
      await scheduler.feedback({ provider: 'openai', model: 'gpt' }, { headers: { 'x-ratelimit-remaining-requests': '1' } })
      const { data } = await models.run({ jobType: 'b' }, async () => ({ data: 7, usage: { inputTokens: 3 } }))
      const held = (await limiter.get(rpm)).held
      await scheduler.shutdown({ deadline: 0 })
      await models.close()
      return [text, data, models.stats().models.gpt.used.tpm, held, (await limiter.list()).length]
    }
    globalThis.answer = answer()`

  it('LIMIT-18: a limiter in memory, job types and a scheduler need no module and no global of Node', async () => {
    const code = await bundled(application, { platform: 'neutral', format: 'iife' })
    expect(code).not.toMatch(/node:|\brequire\(|\bBuffer\b/)
    const context = createContext(edgeGlobals())
    new Script(code).runInContext(context)
    expect(await context['answer']).toEqual(['hi', 7, 3, 99, 4])
  })

  it('LIMIT-18: the whole library imports nothing of Node, whatever a bundler leaves out', async () => {
    const code = await bundled(`export * from '@fairlead/limiter'`, {
      ...{ platform: 'neutral', format: 'esm', external: ['ioredis'], isWhole: true },
    })
    expect(code).toContain('redis.call')
    expect(code).not.toMatch(/["']node:|\bBuffer\b/)
    const imported = [...code.matchAll(/\bfrom ?["'](.+?)["']|\bimport\(["'](.+?)["']\)/g)]
    expect(imported.map(([, ...names]) => names.join(''))).toEqual(['ioredis'])
  })
})
