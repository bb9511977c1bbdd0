import { createHash } from 'node:crypto'
import type { Limit, Limiter } from '@fairlead/core'
import { createLimiter, createScheduler, memory, modelKeys } from '@fairlead/limiter'
import { limiterConformance, START } from '@fairlead/limiter/conformance'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { remoteLimiter } from '../src/index.ts'
import { ServerRig } from './server-rig.ts'

/** The limiter of a server, which a test may take the place of, or look at. */
class ServerSide implements Limiter {
  inner: Limiter = createLimiter({ limits: [] })
  /** The sizes of the batches that came. */
  readonly batches: number[] = []
  readonly reserved: string[] = []
  /** Called when a batch was decided and before that is answered. */
  onDecided: () => void | Promise<void> = () => {}

  define: Limiter['define'] = (limit) => this.inner.define(limit)
  reset: Limiter['reset'] = (key) => this.inner.reset(key)
  delete: Limiter['delete'] = (key) => this.inner.delete(key)
  list: Limiter['list'] = () => this.inner.list()
  get: Limiter['get'] = (key) => this.inner.get(key)
  reserve: Limiter['reserve'] = (request) => this.inner.reserve(request)
  complete: Limiter['complete'] = (request) => this.inner.complete(request)
  completeMany: Limiter['completeMany'] = async (requests) => {
    const answers = await this.inner.completeMany(requests)
    await this.onDecided()
    return answers
  }
  close: Limiter['close'] = async () => {}

  reserveMany: Limiter['reserveMany'] = async (requests) => {
    this.batches.push(requests.length)
    this.reserved.push(...requests.map(({ leaseId }) => leaseId))
    const answers = await this.inner.reserveMany(requests)
    await this.onDecided()
    return answers
  }
}

describe('the suite of limiters', () => {
  limiterConformance('remote', {
    open: async (limits) => {
      let now = START
      const server = new ServerSide()
      server.inner = createLimiter({ backend: memory({ clock: { now: () => now } }), limits })
      // A server of its own: a limit keeps its kind for as long as its server knows of it.
      const rig = await ServerRig.open({}, { limiter: server })
      const limiter = rig.client.limiter({ flushMs: 0 })
      return {
        limiter,
        advance: (ms) => {
          now += ms
        },
        close: async () => {
          await limiter.close()
          await rig.close()
        },
      }
    },
  })
})

/** A lease id over the wire as the server keeps it: it belongs to its subject, here the local admin (LIMIT-22). */
function idOfLocal(leaseId: string): string {
  return createHash('sha256')
    .update(JSON.stringify(['local', leaseId]))
    .digest('base64url')
}

describe('a remote limiter', () => {
  let server: ServerSide
  let rig: ServerRig
  let limiter: Limiter
  beforeEach(async () => {
    server = new ServerSide()
    rig = await ServerRig.open({}, { limiter: server })
    limiter = remoteLimiter(rig.line.url)
    await limiter.define(slots('k', 1_000))
  })
  afterEach(async () => {
    await limiter.close()
    await rig.close()
  })

  const slots = (key: string, capacity: number): Limit => ({
    key,
    kind: 'concurrency',
    capacity,
    timeoutSecs: 600,
  })
  const take = (leaseId: string, of = limiter) =>
    of.reserve({ leaseId, requirements: [{ key: 'k', amount: 1 }] })

  it('REMOTE-1: what is asked at about the same time goes together, 128 at a time', async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => take(`${i}`)))
    expect(answers.every(({ allowed }) => allowed)).toBe(true)
    expect(server.batches).toEqual([128, 128, 44])
    expect(server.reserved).toEqual(Array.from({ length: 300 }, (_, i) => idOfLocal(`${i}`)))
  })

  it('REMOTE-1: sizes are as wanted, within bounds', async () => {
    const small = rig.client.limiter({ maxBatch: 2, flushMs: 0 })
    await Promise.all(['a', 'b', 'c'].map((id) => take(id, small)))
    expect(server.batches).toEqual([2, 1])
    const wrong = [{ maxBatch: 0 }, { maxBatch: 257 }, { flushMs: -1 }, { answerMs: 0 }]
    for (const options of wrong) {
      const [field] = Object.keys(options)
      expect(() => rig.client.limiter(options)).toThrow(`${field}: expected a whole number`)
    }
    const misspelt = { maxbatch: 2 }
    expect(() => rig.client.limiter(misspelt as object)).toThrow(
      'maxbatch: expected no such option',
    )
  })

  it('REMOTE-2: a lost answer is an unknown outcome; the same id again tells what became of it', async () => {
    server.onDecided = () => rig.line.cut()
    expect(await take('a')).toMatchObject({
      allowed: false,
      error: 'backend_error',
      retryAfterMs: 100,
      detail: expect.stringContaining('the connection was lost') as string,
    })
    server.onDecided = () => {}
    expect(await take('a')).toMatchObject({ allowed: true })
    expect((await limiter.get('k'))?.held).toBe(1)
    server.onDecided = () => rig.line.cut()
    expect(await limiter.complete({ leaseId: 'a' })).toMatchObject({
      ok: false,
      error: 'backend_error',
    })
    server.onDecided = () => {}
    expect(await limiter.complete({ leaseId: 'a' })).toMatchObject({ ok: true })
  })

  it('REMOTE-2: so is an answer that does not come, and a server that is away', async () => {
    const hasty = remoteLimiter(rig.line.url, { answerMs: 50 })
    await hasty.get('k')
    let answer: () => void = () => {}
    server.onDecided = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    expect(await take('a', hasty)).toMatchObject({ detail: 'no answer within 50 ms' })
    answer()
    await hasty.close()
    rig.line.isDown = true
    rig.line.cut()
    expect(await take('b')).toMatchObject({ error: 'backend_error' })
  })

  it('REMOTE-2: what the server refuses for good is thrown', async () => {
    const closed = await ServerRig.open({}, { hasTokens: true })
    const stranger = remoteLimiter(closed.line.url, { token: 'flt_wrong' })
    await expect(take('a', stranger)).rejects.toMatchObject({ code: 'Unauthorized' })
    await stranger.close()
    await closed.close()
  })

  it('REMOTE-1: close sends what waits', async () => {
    const slow = remoteLimiter(rig.line.url, { flushMs: 1_000 })
    const asked = take('a', slow)
    await slow.close()
    expect(await asked).toMatchObject({ allowed: true })
  })

  it('SCHED-4: a scheduler goes on over lost answers, and nothing is held twice or for ever', async () => {
    const models = ['a', 'b', 'c', 'd']
    for (const model of models) {
      const { rpm, tpm, concurrency } = modelKeys('p', model)
      await limiter.define(slots(concurrency, 2))
      await limiter.define({ key: rpm, kind: 'rolling', capacity: 1_000, windowSecs: 86_400 })
      await limiter.define({ key: tpm, kind: 'rolling', capacity: 100_000, windowSecs: 86_400 })
    }
    let decided = 0
    server.onDecided = () => {
      // Every seventh answer is lost, of reserves and of completes.
      if (++decided % 7 === 0) rig.line.cut()
    }
    const unknown: string[] = []
    const scheduler = createScheduler({
      limiter,
      workers: 8,
      onUnknown: ({ leaseId }) => unknown.push(leaseId),
    })
    const ran: string[] = []
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        scheduler.submit({
          tenant: `t${i % 3}`,
          provider: 'p',
          model: models[i % 4] as string,
          prompt: 'hello',
          maxOutputTokens: 5,
          execute: async () => {
            ran.push(`${i}`)
            return { value: i, actualTokens: 7 }
          },
        }),
      ),
    )
    await scheduler.shutdown()
    expect(results).toEqual(Array.from({ length: 40 }, (_, i) => i))
    expect(new Set(ran).size).toBe(40)
    expect(ran).toHaveLength(40)
    expect(unknown.length).toBeGreaterThan(0)
    for (const model of models) {
      const { rpm, tpm, concurrency } = modelKeys('p', model)
      const held = await Promise.all(
        [rpm, tpm, concurrency].map(async (key) => (await limiter.get(key))?.held),
      )
      expect(held).toEqual([10, 70, 0])
    }
  })
})
