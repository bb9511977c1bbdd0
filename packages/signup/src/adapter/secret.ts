import { inspect } from 'node:util'
import { REDACTED } from '@fairlead/core/internal'

/** A credential. Whatever prints, logs or stores it shows that there is one, and nothing of it. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** For the request that needs it, and for nothing else. */
  reveal(): string {
    return this.#text
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
