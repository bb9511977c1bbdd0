import { type CborValue, decodeCbor, encodeCbor } from '@fairlead/core'
import type { KeyedRow, Snapshot } from '@fairlead/core/internal'
import type { TokenFacts } from '../commands/command.ts'
import type { EngineNote } from './journal.ts'

/** The lane of tokens, each under its id. */
const LANE = 'token'

type Known = Pick<TokenFacts, 'digest' | 'isRevoked'>
type TokenChange = Extract<EngineNote, { readonly type: 'tokenChanged' }>

/**
 * The tokens as the journal last described them. Each change is noted once, even if no engine ran when it was made
 * (TOKEN-2).
 */
export class KnownTokens {
  readonly #byId: Map<string, Known>
  readonly #rows = new Map<string, KeyedRow>()

  constructor({ lanes }: Snapshot) {
    const rows = lanes.filter(({ lane }) => lane === LANE)
    this.#byId = new Map(rows.map(({ key, value }) => [key, knownOf(decodeCbor(value))]))
  }

  /** Returns the differences from the last call: changed tokens in the order of `tokens`, then removed ones. */
  note(tokens: readonly TokenFacts[], at: number): readonly TokenChange[] {
    const changes: TokenChange[] = []
    const ids = new Set(tokens.map(({ id }) => id))
    for (const token of tokens) {
      const { id, role, holder, scope, expiresAt } = token
      const change = changeOf(this.#byId.get(id), token)
      if (change === null) continue
      const subject = `token:${id}`
      changes.push({ type: 'tokenChanged', at, subject, change, role, holder, scope, expiresAt })
      this.#put(id, token)
    }
    for (const id of [...this.#byId.keys()].filter((known) => !ids.has(known)).sort()) {
      changes.push({ type: 'tokenChanged', at, subject: `token:${id}`, change: 'removed' })
      this.#put(id, null)
    }
    return changes
  }

  /** Takes the rows that changed since the last call. */
  take(): readonly KeyedRow[] {
    if (this.#rows.size === 0) return []
    const rows = [...this.#rows.values()]
    this.#rows.clear()
    return rows
  }

  #put(id: string, known: Known | null): void {
    if (known === null) this.#byId.delete(id)
    else this.#byId.set(id, { digest: known.digest, isRevoked: known.isRevoked })
    const value = known === null ? null : encodeCbor([known.digest, known.isRevoked])
    this.#rows.set(id, { lane: LANE, key: id, value })
  }
}

function changeOf(known: Known | undefined, token: TokenFacts): TokenChange['change'] | null {
  if (known === undefined) return 'created'
  if (known.digest === token.digest) return null
  return token.isRevoked && !known.isRevoked ? 'revoked' : 'changed'
}

function knownOf(cells: CborValue): Known {
  const [digest, isRevoked] = cells as readonly [string, boolean]
  return { digest, isRevoked }
}
