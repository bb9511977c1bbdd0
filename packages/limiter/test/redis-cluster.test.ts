import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { startRedisCluster } from '@fairlead/testkit/servers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { limiterConformance, START } from '../src/conformance/limiter-conformance.ts'
import { createLimiter, createModelLimiter, type ModelLimiter, redis } from '../src/index.ts'
import { leasesMaxRules } from './leases-max.ts'

const folder = mkdtempSync(join(tmpdir(), 'fairlead-cluster-'))
let cluster: Awaited<ReturnType<typeof startRedisCluster>>
beforeAll(async () => {
  cluster = await startRedisCluster(folder)
})
afterAll(async () => {
  await cluster.stop()
  rmSync(folder, { recursive: true })
})

// Each name is in a slot of its own, so the tests are spread over the three nodes.
let names = 0
limiterConformance('redis cluster', {
  open: async (limits) => {
    let now = START
    const backend = redis(cluster.urls, { name: `test-${names++}`, clock: { now: () => now } })
    const limiter = createLimiter({ backend, limits })
    const advance = (ms: number): void => {
      now += ms
    }
    return { limiter, advance, close: () => limiter.close() }
  },
})

leasesMaxRules('redis cluster', (limits, leasesMax) => {
  let now = START
  const clock = { now: () => now }
  const backend = redis(cluster.urls, { name: `test-${names++}`, leasesMax, clock })
  const limiter = createLimiter({ backend, limits })
  const advance = (ms: number): void => {
    now += ms
  }
  return { limiter, advance, close: () => limiter.close() }
})

it('SLOT-16: models are spread over a cluster, and shared by its instances', async () => {
  const models = Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [`model-${i}`, { maxConcurrentRequests: 3 }]),
  )
  const jobTypes = { chat: { estimatedTokens: 1, maxWaitMs: 0 } }
  const backend = redis(cluster.urls, { name: 'models' })
  const all = [0, 1].map(() => createModelLimiter({ backend, models, jobTypes }))
  const [a, b] = all as [ModelLimiter, ModelLimiter]
  const knows = (one: ModelLimiter) =>
    Object.values(one.stats().models).every(({ instances }) => instances === 2)
  // Told by pub/sub: nothing else is called.
  while (!knows(a) || !knows(b)) await setImmediate()
  for (const model of Object.keys(models)) {
    let started = 0
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const job = async () => {
      started++
      await ended
      return { data: null }
    }
    let refused = 0
    const asked = Array.from({ length: 8 }, (_, i) =>
      (i % 2 === 0 ? a : b).run({ jobType: 'chat', models: [model] }, job).catch(() => refused++),
    )
    while (started + refused < asked.length) await setImmediate()
    expect([2, 3]).toContain(started)
    end()
    await Promise.all(asked)
  }
  await Promise.all([a.close(), b.close()])
})
