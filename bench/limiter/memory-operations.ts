import { createLimiter } from '@fairlead/limiter'
import { importPeer } from '../queue/peer.ts'
import { ACTUALS, LIMITS, newId, ONE, type Operation, THREE } from './workload.ts'

type Ctor<T> = new (options: object) => T

export interface PQueue {
  add(job: () => Promise<void>): Promise<unknown>
}

export async function newPQueue(concurrency: number): Promise<PQueue> {
  const { default: Queue } = await importPeer<{ default: Ctor<PQueue> }>('p-queue')
  return new Queue({ concurrency })
}

/** What is compared in memory. A peer that cannot be had throws. */
export const MEMORY_OPERATIONS: Readonly<Record<string, () => Promise<Operation>>> = {
  async fairlead() {
    const limiter = createLimiter({ limits: LIMITS })
    return {
      name: 'fairlead',
      note: '1 key, reserve+complete',
      once: async () => {
        const leaseId = newId()
        await limiter.reserve({ leaseId, requirements: ONE })
        await limiter.complete({ leaseId })
      },
    }
  },
  async 'p-queue'() {
    const queue = await newPQueue(50)
    return { name: 'p-queue', note: 'add', once: () => queue.add(async () => {}) }
  },
  async 'fairlead-3'() {
    const limiter = createLimiter({ limits: LIMITS })
    return {
      name: 'fairlead-3',
      note: '3 keys, reserve+complete',
      once: async () => {
        const leaseId = newId()
        await limiter.reserve({ leaseId, requirements: THREE })
        await limiter.complete({ leaseId, actuals: ACTUALS })
      },
    }
  },
  async 'rate-limiter-flexible'() {
    const { RateLimiterMemory } = await importPeer<{
      RateLimiterMemory: Ctor<{ consume(key: string, points: number): Promise<unknown> }>
    }>('rate-limiter-flexible')
    const limiter = new RateLimiterMemory({ points: 1e12, duration: 60 })
    return {
      name: 'rate-limiter-flexible',
      note: '1 key, consume',
      once: () => limiter.consume('model', 1),
    }
  },
  async limiter() {
    const { RateLimiter } = await importPeer<{
      RateLimiter: Ctor<{ removeTokens(count: number): Promise<unknown> }>
    }>('limiter')
    const limiter = new RateLimiter({ tokensPerInterval: 1e12, interval: 'minute' })
    return { name: 'limiter', note: '1 key, removeTokens', once: () => limiter.removeTokens(1) }
  },
  async bottleneck() {
    const { default: Bottleneck } = await importPeer<{
      default: Ctor<{ schedule(job: () => Promise<void>): Promise<unknown> }>
    }>('bottleneck')
    const limiter = new Bottleneck({ maxConcurrent: 50, reservoir: 1e12 })
    return { name: 'bottleneck', note: 'schedule', once: () => limiter.schedule(async () => {}) }
  },
}
