import { compareAscii } from '../../encoding/bytes.ts'
import type { Provider } from '../provider.ts'
import { statusEndsAt } from './standing.ts'

/** The providers whose jail ends by itself. There are few, so they are searched one by one. */
export class Jail {
  readonly #terms = new Map<Provider, number>()
  /** When the next term ends. */
  nextAt = Number.POSITIVE_INFINITY

  /** The standing of a provider has changed. */
  note(provider: Provider, nowMs: number): void {
    const until = statusEndsAt(provider.standing, nowMs)
    if (until === null && !this.#terms.has(provider)) return
    if (until === null) this.#terms.delete(provider)
    else this.#terms.set(provider, until)
    this.nextAt = Math.min(Number.POSITIVE_INFINITY, ...this.#terms.values())
  }

  /** The first provider, by id, of those whose term ends next. */
  next(): Provider | undefined {
    const due = [...this.#terms].filter(([, until]) => until === this.nextAt)
    return due.map(([provider]) => provider).sort((a, b) => compareAscii(a.id, b.id))[0]
  }
}
