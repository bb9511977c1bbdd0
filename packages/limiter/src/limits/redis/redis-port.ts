import { FairleadError, invalidParams } from '@fairlead/core/limits'

/** What is needed of a Redis client; `Redis` and `Cluster` of ioredis have it. */
export interface RedisPort {
  evalsha(sha: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  eval(text: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  smembers(key: string): Promise<string[]>
}

/** A connection that hears what is published. */
export interface Subscriber {
  subscribe(...channels: string[]): Promise<unknown>
  on(event: 'message', heard: (channel: string, text: string) => void): unknown
  disconnect(): void
}

export interface RedisConnection {
  readonly redis: RedisPort
  /** Opens one more connection; null where the given client does not know how. */
  readonly subscriber: () => Subscriber | null
  readonly disconnect: () => void
}

/** Where Redis is: an address, those of some nodes of a cluster, or a client that is there already. */
export type RedisAddress = string | readonly string[] | RedisPort

/** How long an answer is waited for before the outcome is unknown. */
const COMMAND_TIMEOUT_MS = 2_000
const RECONNECT_MAX_MS = 500

/** Refuses an argument that is neither an address nor a client. */
export function checkAddress(address: unknown): void {
  const isClient = typeof (address as RedisPort | null | undefined)?.evalsha === 'function'
  if (isClient) return
  const urls: readonly unknown[] = Array.isArray(address) ? address : [address]
  if (urls.length === 0 || !urls.every((url) => typeof url === 'string' && url !== '')) {
    const expected = 'a URL, a list of the URLs of some nodes of a cluster, or a client of ioredis'
    throw invalidParams('address', expected)
  }
}

/**
 * A connected client. With an address it is made here, from the optional package `ioredis`. Rejects only where waiting
 * does not help: without that package, or with an address that it cannot read (REDIS-8).
 */
export async function connectRedis(address: RedisAddress): Promise<RedisConnection> {
  if (typeof address === 'object' && !Array.isArray(address)) {
    const redis = address as RedisPort & { duplicate?: () => Subscriber & Errors }
    const subscriber = () => quietly(redis.duplicate?.() ?? null)
    return { redis, subscriber, disconnect: () => {} }
  }
  const { Cluster, Redis } = await loadClient()
  // Without the offline queue a call fails at once while Redis is away, and its caller is told.
  const options = {
    lazyConnect: true,
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: (tries: number) => Math.min(RECONNECT_MAX_MS, 10 * 2 ** Math.min(tries, 6)),
  }
  const nodes = [...(address as readonly string[])]
  const client =
    typeof address === 'string'
      ? new Redis(address, options)
      : new Cluster(nodes, {
          lazyConnect: true,
          enableOfflineQueue: false,
          redisOptions: { commandTimeout: COMMAND_TIMEOUT_MS, connectTimeout: COMMAND_TIMEOUT_MS },
        })
  quietly(client)
  // It goes on connecting by itself if this first try fails.
  await client.connect().catch(() => undefined)
  const { retryStrategy } = options
  // It subscribes again by itself, whenever it is connected again.
  const subscriber = () =>
    quietly(
      typeof address === 'string'
        ? new Redis(address, { retryStrategy, maxRetriesPerRequest: null })
        : new Cluster(nodes),
    )
  return { redis: client, subscriber, disconnect: () => client.disconnect() }
}

/** By its name, in a literal: so a bundler finds it, and an application without Redis needs no such package. */
async function loadClient() {
  try {
    const client = await import('ioredis')
    // Before 5.3 the class is the default export alone.
    const Redis = client.Redis ?? (client.default as unknown as typeof client.Redis)
    return { Redis, Cluster: client.Cluster }
  } catch (cause) {
    throw new FairleadError(
      'InvalidParams',
      'backend: redis() with an address needs the package ioredis; run: npm install ioredis',
      { field: 'backend' },
      { cause },
    )
  }
}

interface Errors {
  on(event: 'error', heard: () => void): unknown
}

/** Every call is told of its own failure; without a listener the client would print them. */
function quietly<T extends Errors | null>(client: T): T {
  client?.on('error', () => {})
  return client
}

/** A call that Redis did not answer, in words for whoever made it. */
export function noAnswer(error: unknown): string {
  return `Redis does not answer (${error instanceof Error ? error.message : String(error)})`
}
