import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, startRedis } from '@fairlead/testkit/servers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { START } from '../src/conformance/limiter-conformance.ts'
import { createLimiter, type Limit, type Limiter, type RedisOptions, redis } from '../src/index.ts'

let folder: string
let port: number
let server: Awaited<ReturnType<typeof startRedis>>
let now: number
let open: Limiter[]
const clock = { now: () => now }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-loss-'))
  port = await freePort()
  server = await startRedis({ folder, keeps: 'none', port })
  now = START
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((limiter) => limiter.close()))
  await server.stop()
  rmSync(folder, { recursive: true })
})

/** Between two calls of one that asks until it is connected: Redis needs the processor, too. */
const POLL_MS = 2

const limit: Limit = { key: 'k', kind: 'rolling', capacity: 10, windowSecs: 60 }

function instance(limits: readonly Limit[] = [limit], options: RedisOptions = {}): Limiter {
  const limiter = createLimiter({ backend: redis(server.url, { clock, ...options }), limits })
  open.push(limiter)
  return limiter
}

async function restart(): Promise<void> {
  await server.stop()
  server = await startRedis({ folder, keeps: 'none', port })
}

/** Asks with the same id until the limiter has connected again. */
async function take(limiter: Limiter, leaseId: string, amount = 1) {
  for (;;) {
    const answer = await limiter.reserve({ leaseId, requirements: [{ key: 'k', amount }] })
    if (answer.error !== 'backend_error') return answer
    await pause(POLL_MS)
  }
}

describe('a Redis that has forgotten everything', () => {
  it('REDIS-3: hears what each instance holds before that one starts more', async () => {
    const [a, b] = [instance(), instance()]
    await take(a, '1', 4)
    await take(b, '2', 5)
    await restart()
    expect(await take(a, '3', 1)).toMatchObject({ allowed: false, deniedKey: 'k' })
    expect(await take(b, '4', 1)).toMatchObject({ allowed: false, deniedKey: 'k' })
    expect((await a.get('k'))?.held).toBe(9)
  })

  it('REDIS-3: is told of all limits that an instance knows when they are listed', async () => {
    const a = instance([limit, { ...limit, key: 'idle' }])
    await take(a, '1', 4)
    await restart()
    await take(a, '2')
    expect((await a.list()).map((view) => [view.limit.key, view.held])).toEqual([
      ['idle', 0],
      ['k', 4],
    ])
  })

  it('REDIS-3: lets nobody start for one window, and then goes on', async () => {
    const a = instance()
    await take(a, '1', 4)
    now += 10_000
    await restart()
    expect(await take(a, '2')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    now += 59_999
    expect(await take(a, '3')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    now += 1
    expect(await take(a, '4', 10)).toMatchObject({ allowed: true })
  })

  it('REDIS-3: a long window is held up for 120 s and keeps what was reported', async () => {
    const a = instance([{ ...limit, windowSecs: 86_400 }])
    await take(a, '1', 4)
    await restart()
    expect(await take(a, '2')).toMatchObject({ retryAfterMs: 120_000 })
    now += 120_000
    expect(await take(a, '3', 7)).toMatchObject({ allowed: false })
    expect(await take(a, '4', 6)).toMatchObject({ allowed: true })
  })

  it('REDIS-3: without the guard, what the instances report is all that holds', async () => {
    const a = instance([limit], { coldStartGuard: false })
    await take(a, '1', 4)
    await restart()
    expect(await take(a, '2', 7)).toMatchObject({ allowed: false })
    expect(await take(a, '3', 6)).toMatchObject({ allowed: true })
  })

  it('REDIS-3: an instance is heard once, and a new one has nothing to report', async () => {
    const a = instance([limit], { coldStartGuard: false })
    await take(a, '1', 4)
    await restart()
    await Promise.all(['2', '3', '4'].map((id) => take(a, id)))
    expect((await instance().get('k'))?.held).toBe(7)
  })

  it('REDIS-3: a bucket starts without what was taken from it', async () => {
    const bucket: Limit = { key: 'k', kind: 'bucket', burst: 10, rate: 0.001 }
    const a = instance([bucket], { coldStartGuard: false })
    await take(a, '1', 7)
    await restart()
    expect(await take(a, '2', 4)).toMatchObject({ allowed: false })
    expect(await take(a, '3', 3)).toMatchObject({ allowed: true })
  })

  it('REDIS-4: a connection that was lost for a while changes nothing', async () => {
    const logged = await startRedis({ folder, keeps: 'log' })
    const a = createLimiter({ backend: redis(logged.url, { clock }), limits: [limit] })
    await take(a, '1', 8)
    await logged.stop()
    const away = await a.reserve({ leaseId: '2', requirements: [{ key: 'k', amount: 1 }] })
    expect(away).toMatchObject({ allowed: false, error: 'backend_error' })
    const back = await startRedis({ folder, keeps: 'log', port: Number(new URL(logged.url).port) })
    expect(await take(a, '2', 3)).toMatchObject({ allowed: false, error: null })
    expect((await a.get('k'))?.held).toBe(8)
    await a.close()
    await back.stop()
  })
})

describe('onBackendLoss: local', () => {
  const local = { onBackendLoss: 'local', instances: 2 } as const

  it('REDIS-6: goes on with an equal share, less what is held, and tells Redis afterwards', async () => {
    const logged = await startRedis({ folder, keeps: 'log' })
    const backend = redis(logged.url, { clock, ...local })
    const a = createLimiter({ backend, limits: [limit] })
    open.push(a)
    await take(a, 'redis', 2)
    await logged.stop()
    // A share of 5, 2 of which are held.
    expect(await take(a, 'too much', 4)).toMatchObject({
      allowed: false,
      error: null,
      deniedKey: 'k',
    })
    expect(await take(a, 'local', 3)).toMatchObject({ allowed: true, reservedAtUnixMs: START })
    expect(await take(a, 'local', 3)).toMatchObject({ allowed: true, reservedAtUnixMs: START })
    const used = { leaseId: 'redis', actuals: [{ key: 'k', amount: 1 }] }
    expect(await a.complete(used)).toMatchObject({ ok: true })
    const port = Number(new URL(logged.url).port)
    const back = await startRedis({ folder, keeps: 'log', port })
    await untilHeld(a, 4)
    await back.stop()
  })

  it('REDIS-6: what was granted meanwhile is told to a Redis that has forgotten the rest, too', async () => {
    const a = instance([limit], { ...local, coldStartGuard: false })
    await take(a, 'redis', 2)
    await server.stop()
    expect(await take(a, 'local', 3)).toMatchObject({ allowed: true })
    server = await startRedis({ folder, keeps: 'none', port })
    await untilHeld(a, 5)
  })

  it('REDIS-6: a share of nothing allows nothing', async () => {
    const a = instance([{ ...limit, capacity: 1 }], local)
    await a.list()
    await server.stop()
    expect(await take(a, 'a')).toMatchObject({ allowed: false, deniedKey: 'k', retryAfterMs: 100 })
    server = await startRedis({ folder, keeps: 'none', port })
  })

  it('REDIS-6: needs to know how many instances there are', () => {
    expect(() => instance([limit], { onBackendLoss: 'local' })).toThrow(/^instances: expected/)
  })

  /** Once it is connected again a call brings everything over; until then it is decided here. */
  async function untilHeld(limiter: Limiter, held: number): Promise<void> {
    for (;;) {
      await limiter.complete({ leaseId: 'nobody' })
      const view = await limiter.get('k').catch(() => null)
      if (view?.held === held) return
      await pause(POLL_MS)
    }
  }
})
