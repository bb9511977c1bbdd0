import { Redis } from 'ioredis'

interface Counted {
  tokens: number
  requests: number
}

/**
 * What Redis was made to count, as its own monitor tells it: every start with the minute that it counts in, and
 * what was given back in that minute. It is found out independently of the state that the scripts keep.
 */
export class PoolAudit {
  readonly minutes = new Map<number, Counted>()
  /** The most that any minute ever had. */
  readonly most: Counted = { tokens: 0, requests: 0 }
  starts = 0
  /** Instances that were dropped, or left. */
  gone = 0
  readonly #redis: Redis
  readonly #inFlight = new Map<string, readonly number[]>()
  #call: readonly string[] = []
  #stop: () => void = () => {}
  #look: () => void = () => {}
  #isOver = false

  constructor(url: string) {
    this.#redis = new Redis(url)
  }

  async begin(): Promise<void> {
    const monitor = await this.#redis.monitor()
    monitor.on('monitor', (_: string, args: string[]) => this.#see(args))
    this.#stop = () => monitor.disconnect()
  }

  /** Once the monitor has told of everything up to now. */
  async end(): Promise<void> {
    await this.#redis.echo('end of audit')
    await this.until(() => this.#isOver)
    this.#stop()
    this.#redis.disconnect()
  }

  /** Once it is so, by what the monitor has told. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => isSo() && resolve()
      this.#look()
    })
  }

  #see(args: readonly string[]): void {
    const [name = '', key = '', ...rest] = args
    const command = name.toLowerCase()
    const isFlight = key.includes(':flight:')
    if (command === 'echo') this.#isOver = true
    if (command === 'evalsha' || command === 'eval') this.#call = args
    if (command === 'zrem') this.gone++
    if (command === 'hdel' && isFlight) this.#ended(key, rest[0] ?? '')
    if (command === 'hset' && isFlight) {
      for (let i = 0; i < rest.length; i += 2) this.#started(key, rest, i)
    }
    this.#look()
  }

  #started(key: string, rest: readonly string[], i: number): void {
    const [tokens = 0, requests = 0, minute = 0] = (rest[i + 1] ?? '').split(' ').map(Number)
    const counted = this.minutes.get(minute) ?? { tokens: 0, requests: 0 }
    counted.tokens += tokens
    counted.requests += requests
    this.minutes.set(minute, counted)
    this.#inFlight.set(`${key} ${rest[i]}`, [tokens, requests, minute])
    this.starts++
    this.most.tokens = Math.max(this.most.tokens, counted.tokens)
    this.most.requests = Math.max(this.most.requests, counted.requests)
  }

  /** What it did not use goes back, if its minute is still the latest that anything started in. */
  #ended(key: string, ref: string): void {
    const start = this.#inFlight.get(`${key} ${ref}`)
    this.#inFlight.delete(`${key} ${ref}`)
    const [tokens = 0, requests = 0, minute = 0] = start ?? []
    // evalsha sha 3 key key key now instance birth version, then ref, tokens, requests of each.
    const at = this.#call.indexOf(ref, 10)
    const [used = -1, usedRequests = -1] = this.#call.slice(at + 1, at + 3).map(Number)
    const counted = this.minutes.get(minute)
    const now = Math.floor(Number(this.#call[6]) / 60_000)
    if (start === undefined || used < 0 || counted === undefined || now !== minute) return
    counted.tokens -= Math.max(0, tokens - used)
    counted.requests -= Math.max(0, requests - usedRequests)
  }
}
