import type { EngineEvent } from './journal.ts'

/** Takes a listener back. */
export type Unsubscribe = () => void

/** Who wants to hear of what; told only after the write has been confirmed. */
export class Subscribers {
  readonly #events = new Set<(event: EngineEvent) => void>()

  onEvent(listener: (event: EngineEvent) => void): Unsubscribe {
    this.#events.add(listener)
    return () => this.#events.delete(listener)
  }

  get wantEvents(): boolean {
    return this.#events.size > 0
  }

  tell(events: readonly EngineEvent[]): void {
    for (const event of events) for (const listener of this.#events) guarded(() => listener(event))
  }
}

/** A listener that throws is its owner's affair: what it was told of is stored all the same. */
export function guarded(tell: () => void): void {
  try {
    tell()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
