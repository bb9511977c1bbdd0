import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedisCluster } from '@fairlead/testkit/servers'
import { afterAll, beforeAll } from 'vitest'
import { limiterConformance, START } from '../src/conformance/limiter-conformance.ts'
import { createLimiter, redis } from '../src/index.ts'

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
