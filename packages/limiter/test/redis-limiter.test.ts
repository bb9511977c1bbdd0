import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '@fairlead/testkit/servers'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limiterConformance, START } from '../src/conformance/limiter-conformance.ts'
import { createLimiter, type Limit, type Limiter, redis } from '../src/index.ts'
import { forgetsAsMemory, leasesMaxRules, type OpenSmall } from './leases-max.ts'

const folder = mkdtempSync(join(tmpdir(), 'fairlead-redis-'))
let server: Awaited<ReturnType<typeof startRedis>>
let direct: Redis
beforeAll(async () => {
  server = await startRedis({ folder, keeps: 'none' })
  direct = new Redis(server.url)
})
afterAll(async () => {
  direct.disconnect()
  await server.stop()
  rmSync(folder, { recursive: true })
})

let names = 0
const newName = () => `test-${names++}`

limiterConformance('redis', {
  open: async (limits) => {
    let now = START
    const clock = { now: () => now }
    const limiter = createLimiter({
      backend: redis(server.url, { name: newName(), clock }),
      limits,
    })
    const advance = (ms: number): void => {
      now += ms
    }
    return { limiter, advance, close: () => limiter.close() }
  },
})

const openSmall: OpenSmall = (limits, leasesMax) => {
  let now = START
  const backend = redis(direct, { name: newName(), leasesMax, clock: { now: () => now } })
  const limiter = createLimiter({ backend, limits })
  const advance = (ms: number): void => {
    now += ms
  }
  return { limiter, advance, close: () => limiter.close() }
}
leasesMaxRules('redis', openSmall)
forgetsAsMemory(openSmall)

describe('on Redis', () => {
  const rolling: Limit = { key: 'k', kind: 'rolling', capacity: 10, windowSecs: 60 }
  const take = (limiter: Limiter, leaseId: string, amount = 1) =>
    limiter.reserve({ leaseId, requirements: [{ key: 'k', amount }] })

  it('REDIS-1: instances of one name share their limits, on the clock of the server', async () => {
    const backend = redis(server.url, { name: newName() })
    const [a, b] = [0, 1].map(() => createLimiter({ backend, limits: [rolling] })) as [
      Limiter,
      Limiter,
    ]
    const serverMs = async () => {
      const [seconds = 0, micros = 0] = (await direct.time()).map(Number)
      return 1_000 * seconds + Math.floor(micros / 1_000)
    }
    const before = await serverMs()
    const answers = await Promise.all([take(a, '1', 6), take(b, '2', 6)])
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(1)
    const reservedAt = answers.find(({ allowed }) => allowed)?.reservedAtUnixMs ?? 0
    expect(reservedAt).toBeGreaterThanOrEqual(before)
    expect(reservedAt).toBeLessThanOrEqual(await serverMs())
    await Promise.all([a.close(), b.close()])
  })

  it('LIMIT-20: what one instance has deleted or reset, no other brings back', async () => {
    const name = newName()
    const backend = redis(server.url, { name })
    const [a, b] = [0, 1].map(() => createLimiter({ backend, limits: [rolling] })) as [
      Limiter,
      Limiter,
    ]
    await Promise.all([take(a, '1', 6), take(b, '2', 4)])
    expect(await a.reset('k')).toMatchObject({ held: 0 })
    expect(await take(b, '3', 10)).toMatchObject({ allowed: true })
    await b.complete({ leaseId: '2', actuals: [{ key: 'k', amount: 0 }] })
    expect(await a.get('k')).toMatchObject({ held: 10 })
    expect(await a.delete('k')).toBe(true)
    expect(await take(b, '4')).toMatchObject({ error: 'unknown_limit_key:k' })
    expect([await b.list(), await a.list()]).toEqual([[], []])
    await b.define(rolling)
    expect(await take(a, '5', 10)).toMatchObject({ allowed: true })
    await Promise.all([a.close(), b.close()])
  })

  it('LIMIT-20: a limit that an older version has filled is read, and reset', async () => {
    const name = newName()
    const limiter = createLimiter({ backend: redis(server.url, { name }), limits: [rolling] })
    await take(limiter, 'old', 10)
    const key = `{fairlead:${name}}:limit:k`
    const meter = (await direct.hgetBuffer(key, 'm')) as Buffer
    await direct.hset(key, 'm', meter.subarray(0, meter.length - 8))
    expect(await take(limiter, 'full')).toMatchObject({ allowed: false })
    await direct.hset(key, 'm', meter.subarray(0, meter.length - 8))
    expect(await limiter.reset('k')).toMatchObject({ held: 0 })
    expect(await take(limiter, 'new', 10)).toMatchObject({ allowed: true })
    await limiter.close()
  })

  it('REDIS-2: every key has the hash tag of its limiter, and expires', async () => {
    const name = newName()
    let now = START
    const backend = redis(server.url, { name, leasesMax: 3, clock: { now: () => now } })
    const limiter = createLimiter({ backend, limits: [rolling] })
    await take(limiter, 'held')
    await take(limiter, 'denied', 10)
    await take(limiter, 'done')
    // A minute later the second is over, and the others are among those that are remembered for longer.
    now += 60_000
    await limiter.complete({ leaseId: 'done' })
    await take(limiter, 'new')
    const keys = await direct.keys(`*${name}*`)
    const kept = ['limit:k', 'limits', ...['ids', 'old', 'over'].map((one) => `limits:${one}`)]
    const leases = ['denied', 'done', 'held', 'new'].map((id) => `lease:${id}`)
    expect(keys.sort()).toEqual([...leases, ...kept].map((key) => `{fairlead:${name}}:${key}`))
    for (const key of keys) {
      expect(await direct.pttl(key)).toBeGreaterThan(0)
    }
    await limiter.close()
  })

  it('REDIS-2: the lists of limits and of lease ids are kept as long as limits are, however long nothing is defined', async () => {
    const name = newName()
    let now = START
    const backend = redis(server.url, { name, clock: { now: () => now } })
    const limiter = createLimiter({ backend, limits: [{ ...rolling, windowSecs: 864_000 }] })
    await take(limiter, '1')
    const index = `{fairlead:${name}}:limits`
    await direct.pexpire(index, 1_000)
    await direct.pexpire(`${index}:ids`, 100_000)
    await take(limiter, '2')
    expect(await direct.pttl(index)).toBeLessThanOrEqual(1_000)
    now += 14 * 86_400_000
    await take(limiter, '3')
    const [kept, listed, counted] = await Promise.all(
      [`{fairlead:${name}}:limit:k`, index, `${index}:ids`].map((key) => direct.pttl(key)),
    )
    expect(listed).toBeGreaterThan((kept ?? 0) - 1_000)
    expect(counted).toBeGreaterThan((kept ?? 0) - 1_000)
    await limiter.close()
  })

  it.each([
    [[''], /^address: /],
    [[[]], /^address: /],
    [[7], /^address: /],
    [['redis://x', { name: '' }], /^name: /],
    [['redis://x', { rememberMs: 'long' }], /^rememberMs: /],
    [['redis://x', { leasesMax: 0 }], /^leasesMax: /],
    [['redis://x', { coldStartGuards: false }], /^coldStartGuards: expected no such field/],
    [['redis://x', { onBackendLoss: 'local' }], /^instances: /],
    [['redis://x', { onBackendLoss: 'allow' }], /^onBackendLoss: expected deny or local/],
  ])('redis(…) checks what it is given, at once: %j', (given, message) => {
    expect(() => redis(...(given as Parameters<typeof redis>))).toThrow(message)
  })

  it('REDIS-7: calls of one turn are one script, 32 at most, each decided for itself and in order', async () => {
    const limits = [rolling]
    const limiter = createLimiter({ backend: redis(server.url, { name: newName() }), limits })
    await take(limiter, 'first')
    await direct.config('RESETSTAT')
    const answers = await Promise.all(
      Array.from({ length: 33 }, (_, i) => take(limiter, `${i}`, i === 3 ? 4 : 1)),
    )
    expect(answers.map(({ allowed }, i) => (allowed ? i : -1)).filter((i) => i >= 0)).toEqual([
      ...[0, 1, 2, 3, 4, 5],
    ])
    const stats = await direct.info('commandstats')
    expect(stats).toContain('cmdstat_evalsha:calls=2,')
    await limiter.close()
  })

  it('LIMIT-15: the largest batch has 8,192 limits, known to its instance, to another one, and to Redis or not', async () => {
    const name = newName()
    const limits = Array.from({ length: 256 * 32 }, (_, i) => ({ ...rolling, key: `k${i}` }))
    // A client that waits for as long as it takes.
    const backend = redis(direct, { name, coldStartGuard: false })
    const [a, b] = [createLimiter({ backend, limits }), createLimiter({ backend, limits: [] })]
    const batch = (id: string) =>
      Array.from({ length: 256 }, (_, i) => ({
        leaseId: `${id}${i}`,
        requirements: limits.slice(32 * i, 32 * i + 32).map(({ key }) => ({ key, amount: 1 })),
      }))
    const isFine = ({ error }: { readonly error: string | null }) => error === null
    expect((await a.reserveMany(batch('1'))).every(isFine)).toBe(true)
    const done = batch('1').map(({ leaseId }) => ({ leaseId }))
    expect((await b.completeMany(done)).every(isFine)).toBe(true)
    await direct.flushdb()
    expect((await a.reserveMany(batch('2'))).every(isFine)).toBe(true)
    await Promise.all([a.close(), b.close()])
  })

  it('REDIS-4: scripts that Redis has forgotten are sent again', async () => {
    const limiter = createLimiter({
      backend: redis(server.url, { name: newName() }),
      limits: [rolling],
    })
    await take(limiter, 'a')
    await direct.script('FLUSH')
    expect(await take(limiter, 'b')).toMatchObject({ allowed: true })
    expect((await limiter.get('k'))?.held).toBe(2)
    await limiter.close()
  })

  it('REDIS-1: a lease is completed by an instance that did not reserve it', async () => {
    const backend = redis(server.url, { name: newName() })
    const limits: Limit[] = [{ key: 'k', kind: 'concurrency', capacity: 1, timeoutSecs: 60 }]
    const a = createLimiter({ backend, limits })
    const b = createLimiter({ backend, limits: [] })
    await take(a, '1')
    expect(await b.complete({ leaseId: '1' })).toMatchObject({ ok: true })
    expect((await a.get('k'))?.held).toBe(0)
    await Promise.all([a.close(), b.close()])
  })

  it('LIMIT-4: what runs out while a complete has to be asked again is not held for ever', async () => {
    let now = START
    const backend = redis(server.url, { name: newName(), clock: { now: () => now } })
    const other: Limit = { key: 'c', kind: 'concurrency', capacity: 1, timeoutSecs: 600 }
    const [a, b] = [0, 1].map(() => createLimiter({ backend, limits: [rolling, other] })) as [
      Limiter,
      Limiter,
    ]
    await take(a, '1', 6)
    // It knows both limits as they are from here on.
    await b.list()
    await a.reserve({ leaseId: 'x', requirements: [{ key: 'c', amount: 1 }] })
    now += 30_000
    await take(a, '2', 4)
    now += 40_000
    // This one does not know what the lease holds, and names something else that has partly run out.
    await b.complete({ leaseId: 'x', actuals: [{ key: 'k', amount: 3 }] })
    expect([(await b.get('k'))?.held, (await b.get('c'))?.held]).toEqual([4, 0])
    expect(await take(b, '3', 6)).toMatchObject({ allowed: true })
    await Promise.all([a.close(), b.close()])
  })

  it('REDIS-1: a limit that another instance defined or changed is known at once', async () => {
    const backend = redis(server.url, { name: newName() })
    const a = createLimiter({ backend, limits: [] })
    const b = createLimiter({ backend, limits: [] })
    expect(await take(a, '1')).toMatchObject({ error: 'unknown_limit_key:k' })
    await b.define(rolling)
    expect(await take(a, '2', 8)).toMatchObject({ allowed: true })
    await b.define({ ...rolling, capacity: 20 })
    expect(await take(a, '3', 12)).toMatchObject({ allowed: true })
    expect((await a.list()).map(({ held }) => held)).toEqual([20])
    await Promise.all([a.close(), b.close()])
  })

  it('REDIS-5: while Redis is away nothing is allowed, and the outcome is called unknown', async () => {
    const gone = createLimiter({ backend: redis('redis://127.0.0.1:1'), limits: [rolling] })
    expect(await take(gone, 'a')).toMatchObject({
      allowed: false,
      error: 'backend_error',
      retryAfterMs: 100,
    })
    expect(await gone.complete({ leaseId: 'a' })).toMatchObject({
      ok: false,
      error: 'backend_error',
    })
    await expect(gone.list()).rejects.toThrow()
    await gone.close()
  })
})
