import { createLimiter, redis } from '@fairlead/limiter'
import { importPeer } from '../queue/peer.ts'
import { ACTUALS, LIMITS, newId, type Operation, THREE } from './workload.ts'

interface Client {
  script(act: 'LOAD', text: string): Promise<string>
  evalsha(sha: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  disconnect(): void
}

type Ctor<T> = new (...options: never[]) => T

/** The least that a limiter on Redis can do: one key, one script. */
const BARE = `local used = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return used`
const BATCH = 100

/** What is compared on Redis. */
export const REDIS_OPERATIONS: Readonly<Record<string, (url: string) => Promise<Operation>>> = {
  async 'bare EVALSHA'(url) {
    const client = await connect(url)
    const sha = await client.script('LOAD', BARE)
    return {
      name: 'bare EVALSHA',
      note: '1 key, 1 script',
      once: () => client.evalsha(sha, 1, 'bare', 1, 60_000),
      close: async () => client.disconnect(),
    }
  },
  async 'fairlead-3'(url) {
    const limiter = createLimiter({ backend: redis(url, { name: 'bench' }), limits: LIMITS })
    return {
      name: 'fairlead-3',
      note: '3 keys, reserve+complete',
      once: async () => {
        const leaseId = newId()
        const { allowed, detail } = await limiter.reserve({ leaseId, requirements: THREE })
        if (!allowed) throw new Error(`not allowed: ${detail}`)
        await limiter.complete({ leaseId, actuals: ACTUALS })
      },
      close: () => limiter.close(),
    }
  },
  async 'fairlead-many'(url) {
    const limiter = createLimiter({ backend: redis(url, { name: 'many' }), limits: LIMITS })
    return {
      name: 'fairlead-many',
      note: `3 keys, reserveMany of ${BATCH}`,
      counts: BATCH,
      once: () =>
        limiter.reserveMany(
          Array.from({ length: BATCH }, () => ({ leaseId: newId(), requirements: THREE })),
        ),
      close: () => limiter.close(),
    }
  },
  async 'rate-limiter-flexible-3'(url) {
    const { RateLimiterRedis } = await importPeer<{
      RateLimiterRedis: Ctor<{ consume(key: string, points: number): Promise<unknown> }>
    }>('rate-limiter-flexible')
    const client = await connect(url)
    const options = { storeClient: client, points: 1e12, duration: 60 } as never
    const limiter = new RateLimiterRedis(options)
    return {
      name: 'rate-limiter-flexible-3',
      note: '3 keys, consume of each',
      once: () => Promise.all(THREE.map(({ key, amount }) => limiter.consume(key, amount))),
      close: async () => client.disconnect(),
    }
  },
  async bottleneck(url) {
    const { default: Bottleneck } = await importPeer<{
      default: Ctor<{
        schedule(job: () => Promise<void>): Promise<unknown>
        disconnect(): Promise<void>
      }>
    }>('bottleneck')
    const { default: Redis } = await importPeer<{ default: unknown }>('ioredis')
    const { hostname: host, port } = new URL(url)
    const limiter = new Bottleneck({
      id: 'bench',
      datastore: 'ioredis',
      Redis,
      clientOptions: { host, port: Number(port) },
      reservoir: 1e9,
    } as never)
    return {
      name: 'bottleneck',
      note: 'clustering, schedule',
      once: () => limiter.schedule(async () => {}),
      close: () => limiter.disconnect(),
    }
  },
}

async function connect(url: string): Promise<Client> {
  const { Redis } = await importPeer<{ Redis: Ctor<Client> }>('ioredis')
  return new Redis(url as never)
}
