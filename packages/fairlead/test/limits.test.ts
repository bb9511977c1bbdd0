import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { remoteLimiter } from '@fairlead/client'
import { createScheduler, type Limiter, modelKeys } from '@fairlead/limiter'
import { startRedis } from '@fairlead/testkit/servers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CliServer, fairlead, serve } from './cli-process.ts'

const TPM = 'global:llm:openai:gpt-5.2:tpm'

let folder: string
let server: CliServer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-limits-'))
})
afterEach(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => fairlead([...args, '--url', server.url])

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Record<string, unknown>
}
const reserve = (lease_id: string, amount: number, key = TPM) =>
  post('/v1/reserve', { lease_id, requirements: [{ key, amount }] })

async function kill(): Promise<void> {
  server.process.kill('SIGKILL')
  await server.process.ended
}

const aDay = ['--kind', 'rolling', '--capacity', '1000', '--window', '1d']

describe('fairlead limits', () => {
  it('sets, changes, shows and lists', async () => {
    server = await serve(folder)
    const set = await run('limits', 'set', TPM, ...aDay, '--unit', 'tokens')
    expect(set).toMatchObject({ code: 0, err: '' })
    expect(set.out).toMatch(/^global\S+tpm\nkind +rolling\nallows +1000 in any 86400 s\nheld +0\n/)
    await reserve('a', 800)
    const lower = await run('limits', 'set', TPM, '--capacity', '500', '--json')
    expect(JSON.parse(lower.out)).toMatchObject({
      definition: { capacity: 1_000, window_seconds: 86_400, unit: 'tokens' },
      state: 'decreasing',
      pending_decrease_to: 500,
    })
    const noted = await run('limits', 'set', TPM, '--description', 'of gpt-5.2', '--json')
    expect(JSON.parse(noted.out)).toMatchObject({ pending_decrease_to: 500 })
    await run('limits', 'set', 'site', '--kind', 'bucket', '--burst', '5', '--rate', '0.5')
    const { out } = await run('limits', 'list')
    expect(out).toMatch(/global\S+ +rolling +1000 in any 86400 s +800 +decreasing to 500/)
    expect(out).toMatch(/site +bucket +0\.5 a second, 5 at once +5 left +active/)
    expect((await run('limits', 'show', TPM)).out).toMatch(/held +800/)
  })

  it('says what is wrong, with an exit code for each sort', async () => {
    server = await serve(folder)
    for (const [args, text, code] of [
      [['show', 'nothing'], /there is no limit nothing/, 3],
      [['set', 'k'], /--kind: expected one of rolling, .*there is no limit k yet/, 2],
      [['set', 'k', '--kind', 'daily'], /--kind: expected one of/, 2],
      [['set', 'k', '--kind', 'rolling', '--capacity', '0'], /--capacity: expected a whole/, 2],
      [['set', 'k', ...aDay, '--window', '90ms'], /--window: expected whole seconds/, 2],
      [['set', 'k', '--kind', 'bucket', '--burst', '1', '--rate', 'x'], /--rate: expected/, 2],
      [['set', 'k', '--kind', 'rolling', '--capacity', '1'], /limit\.window_seconds/, 2],
    ] as const) {
      const ended = await run('limits', ...args)
      expect(ended.err).toMatch(text)
      expect(ended.code, args.join(' ')).toBe(code)
    }
  })
})

describe('where limits are kept', () => {
  it('HTTP-5: in the store; a server that is killed has forgotten no limit and no hold', async () => {
    server = await serve(folder)
    await run('limits', 'set', TPM, ...aDay)
    const first = await reserve('a', 800)
    expect(first).toMatchObject({ allowed: true })
    await kill()
    server = await serve(folder)
    expect(await reserve('b', 300)).toMatchObject({ allowed: false, denied_key: TPM })
    expect(await reserve('a', 800)).toEqual(first)
    await post('/v1/complete', { lease_id: 'a', actuals: [{ key: TPM, actual_amount: 100 }] })
    await kill()
    server = await serve(folder)
    expect(await reserve('a', 800)).toMatchObject({ error: 'lease_finished' })
    expect(await reserve('c', 900)).toMatchObject({ allowed: true })
  })

  it('SCHED-4: a scheduler on a server that is killed again and again runs each job once, and holds what it should', async () => {
    server = await serve(folder)
    const { port } = new URL(server.url)
    const limiter = remoteLimiter(server.url)
    const models = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const model of models) {
      const { rpm, tpm, concurrency } = modelKeys('p', model)
      const day = { kind: 'rolling', capacity: 1_000_000, windowSecs: 86_400 } as const
      await limiter.define({ key: rpm, ...day })
      await limiter.define({ key: tpm, ...day })
      await limiter.define({ key: concurrency, kind: 'concurrency', capacity: 2, timeoutSecs: 600 })
    }
    const ran: number[] = []
    let restarted = Promise.resolve()
    const patient = {
      reserve: (request) => limiter.reserve(request),
      // A scheduler gives up a complete after some tries, and a slow machine takes long to start a server.
      complete: async (request) => {
        const answer = await limiter.complete(request)
        if (!answer.ok) await restarted
        return answer
      },
    } as Limiter
    const scheduler = createScheduler({ limiter: patient, workers: 12 })
    const execute = async (i: number) => {
      ran.push(i)
      // In the middle of reserves and completes of the others.
      if (ran.length % 60 === 0) {
        restarted = kill().then(async () => {
          server = await serve(folder, '--port', port)
        })
      }
      return { value: i, actualTokens: 7 }
    }
    const jobs = Array.from({ length: 180 }, (_, i) =>
      scheduler.submit({
        tenant: 't',
        provider: 'p',
        model: models[i % models.length] as string,
        prompt: 'hello',
        maxOutputTokens: 5,
        execute: () => execute(i),
      }),
    )
    await Promise.all(jobs)
    await restarted
    await scheduler.shutdown()
    expect(ran.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 180 }, (_, i) => i))
    for (const model of models) {
      const { rpm, tpm, concurrency } = modelKeys('p', model)
      const views = await Promise.all([rpm, tpm, concurrency].map((key) => limiter.get(key)))
      expect(views.map((view) => view?.held)).toEqual([30, 210, 0])
    }
    await limiter.close()
  })

  it('HTTP-5: on Redis if one is configured, for several servers together', async () => {
    const redis = await startRedis({ folder, keeps: 'log' })
    server = await serve(folder, '--redis', redis.url)
    const other = await serve(folder, '--redis', redis.url, '--store', 'other.db')
    try {
      const key = `${TPM}:${folder}`
      await run('limits', 'set', key, ...aDay)
      expect(await reserve('a', 800, key)).toMatchObject({ allowed: true })
      await kill()
      server = other
      expect(await reserve('b', 300, key)).toMatchObject({ allowed: false, denied_key: key })
      await post('/v1/complete', { lease_id: 'a', actuals: [{ key, actual_amount: 100 }] })
      expect(await reserve('c', 900, key)).toMatchObject({ allowed: true })
    } finally {
      await redis.stop()
    }
    expect(await reserve('d', 1)).toMatchObject({ allowed: false, error: 'backend_error' })
    const shown = await fetch(`${server.url}/v1/admin/limits`)
    expect(shown.status).toBe(503)
    expect(await shown.json()).toMatchObject({ error: 'backend_error' })
  })

  it('HTTP-5: a Redis that has lost its limits gets them back from the store', async () => {
    const first = await startRedis({ folder, keeps: 'none' })
    server = await serve(folder, '--redis', first.url)
    await run('limits', 'set', TPM, ...aDay)
    await server.stop()
    await first.stop()
    const second = await startRedis({ folder, keeps: 'none' })
    try {
      server = await serve(folder, '--redis', second.url)
      expect(await reserve('a', 1_000)).toMatchObject({ allowed: true })
    } finally {
      await second.stop()
    }
  })

  it('HTTP-5: with redis.on_backend_loss local a server goes on with its share while Redis is away', async () => {
    const redis = await startRedis({ folder, keeps: 'none' })
    const local = ['--redis', redis.url, '--set', 'redis.on_backend_loss=local']
    const refused = await fairlead(['serve', ...local, '--port', '0'], { cwd: folder })
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('instances') })
    server = await serve(folder, ...local, '--set', 'redis.instances=4')
    await run('limits', 'set', TPM, ...aDay)
    expect(await reserve('a', 200)).toMatchObject({ allowed: true })
    await redis.stop()
    expect(await reserve('b', 51)).toMatchObject({ allowed: false, denied_key: TPM })
    expect(await reserve('c', 50)).toMatchObject({ allowed: true })
  })

  it('HTTP-5: a Redis that is away at the start holds up nothing but reserves; doctor says so', async () => {
    server = await serve(folder, '--redis', 'redis://127.0.0.1:1')
    expect(await reserve('a', 1)).toMatchObject({ allowed: false, error: 'backend_error' })
    const { out, code } = await fairlead(['doctor', '--set', 'redis.url=redis://127.0.0.1:1'], {
      cwd: folder,
    })
    expect(out).toMatch(/Redis at 127\.0\.0\.1:1 does not answer/)
    expect(code).toBe(1)
  })
})
