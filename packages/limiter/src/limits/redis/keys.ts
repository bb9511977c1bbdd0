/**
 * The names of everything that a limiter keeps in Redis. They share one hash tag: a call may touch any of
 * its limits together, and on a cluster only keys of one slot can be changed in one step (REDIS-2).
 */
export class Keys {
  readonly #tag: string

  constructor(name: string) {
    this.#tag = `{fairlead:${name}}`
  }

  get index(): string {
    return `${this.#tag}:limits`
  }

  limit(key: string): string {
    return `${this.#tag}:limit:${key}`
  }

  lease(id: string): string {
    return `${this.#tag}:lease:${id}`
  }

  /** The other way round: the key of a limit as users write it. */
  limitOf(redisKey: string): string {
    return redisKey.slice(this.limit('').length)
  }
}
