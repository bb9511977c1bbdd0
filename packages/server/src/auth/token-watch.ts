import { callerOf, type FairleadError } from '@fairlead/core'
import type { Engine, TokenFacts } from '@fairlead/engine'
import type { Logger } from '../log.ts'
import type { AuditedToken, TokenStore } from './identity.ts'
import { scopeText } from './scope.ts'

/** A change that could not be written to the audit log is tried again after this long. */
const RETRY_MS = 10_000
const ACTOR = { actor: 'tokens' }

/**
 * Follows the tokens while a server runs: each change goes into the audit log (TOKEN-2), and those who were let in
 * by a token that is over are shown out. Nothing is lost while no server runs, because the engine knows what it
 * was told last.
 */
export class TokenWatch {
  readonly #tokens: TokenStore
  readonly #engine: Engine
  readonly #logger: Logger
  readonly #endOver: () => Promise<void>
  readonly #stop: (() => void) | null
  #retry: NodeJS.Timeout | null = null

  constructor(parts: {
    readonly tokens: TokenStore
    readonly engine: Engine
    readonly logger: Logger
    /** Shows out who may not stay. */
    readonly endOver: () => Promise<void>
  }) {
    this.#tokens = parts.tokens
    this.#engine = parts.engine
    this.#logger = parts.logger
    this.#endOver = parts.endOver
    this.#stop = this.#tokens.watch?.((problem) => void this.#changed(problem)) ?? null
  }

  /** Writes into the audit log what changed since any server looked. */
  async note(): Promise<void> {
    if (this.#tokens.audited === undefined) return
    try {
      await this.#engine.noteTokens(this.#tokens.audited().map(factsOf), ACTOR)
    } catch (err) {
      this.#logger.error({ err }, 'a change of tokens could not be written to the audit log')
      this.#retry ??= setTimeout(() => {
        this.#retry = null
        void this.note()
      }, RETRY_MS).unref()
    }
  }

  close(): void {
    this.#stop?.()
    if (this.#retry !== null) clearTimeout(this.#retry)
  }

  async #changed(problem: FairleadError | null): Promise<void> {
    if (problem !== null) {
      this.#logger.error({ err: problem }, 'the tokens cannot be read: every call is refused')
      return
    }
    this.#logger.info({}, 'the tokens have changed')
    try {
      await this.#endOver()
    } catch (err) {
      // They stay until they are known to be over: the next change looks again.
      this.#logger.error({ err }, 'the tokens cannot be read')
    }
    await this.note()
  }
}

function factsOf(token: AuditedToken): TokenFacts {
  const { id, digest, revokedAt, role, subject, scope, expiresAt } = token
  return {
    id,
    digest,
    isRevoked: revokedAt !== null,
    role,
    // A requester's name may be that of a person, and no name of a person is in the log (AUDIT-3).
    holder: role === 'provider' ? subject : callerOf(subject),
    scope: scopeText(scope),
    expiresAt,
  }
}
