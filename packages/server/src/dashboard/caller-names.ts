import { type Caller, callerOf } from '@fairlead/core'
import type { TokenStore } from '../auth/identity.ts'
import { Kept } from './kept.ts'

const KEPT_MS = 5_000

/** The subjects of tokens by the caller that their jobs belong to. The engine knows callers by their hash only. */
export class CallerNames {
  readonly #tokens: TokenStore | null
  readonly #kept = new Kept<ReadonlyMap<Caller, string>>(KEPT_MS)

  constructor(tokens: TokenStore | null) {
    this.#tokens = tokens
  }

  /** Null for a caller without a token. */
  of(caller: Caller, nowMs: number): string | null {
    return this.#kept.get('', nowMs, () => this.#read()).get(caller) ?? null
  }

  #read(): ReadonlyMap<Caller, string> {
    const subjects = [LOCAL, ...(this.#tokens?.audited?.() ?? []).map(({ subject }) => subject)]
    return new Map(subjects.map((subject) => [callerOf(subject), subject]))
  }
}

/** Whose jobs are those of a server without tokens. */
const LOCAL = 'local'
