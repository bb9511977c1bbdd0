import type { EngineLoop } from '../loop/engine-loop.ts'

/**
 * Places in the journal that outlive the process (FOLLOW-1). Code outside the engine that acts on every event notes
 * here up to which one it has acted, and goes on after it at the next start.
 */
export class EngineFollowers {
  readonly #loop: EngineLoop

  constructor(loop: EngineLoop) {
    this.#loop = loop
  }

  /** The followers by id, each with the last event that it has acted on. */
  list(): ReadonlyMap<string, number> {
    return this.#loop.state.followers
  }

  /** A new follower begins with the events after now. Resolves with its place. */
  begin(id: string): Promise<number> {
    return this.#loop.submit({ type: 'follow', id, seq: 'now' }) as Promise<number>
  }

  /** Resolves once the place is durable. A place never goes back. */
  async reached(id: string, seq: number): Promise<void> {
    await this.#loop.submit({ type: 'follow', id, seq })
  }

  async end(id: string): Promise<void> {
    await this.#loop.submit({ type: 'follow', id, seq: null })
  }
}
