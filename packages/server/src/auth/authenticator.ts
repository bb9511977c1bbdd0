import type { IncomingMessage } from 'node:http'
import { FairleadError } from '@fairlead/core'
import type { AccessNotes } from './access-notes.ts'
import { type Identity, LOCAL_ADMIN, type TokenStore } from './identity.ts'
import { type Rate, TokenBuckets } from './token-bucket.ts'

/** What a request or an upgrade shows to be let in. */
export interface AuthAttempt {
  /** Without `Bearer`; null where none was given. */
  readonly token: string | null
  readonly address: string
  /** The name under which the server was asked. */
  readonly host: string | undefined
  /** It came by way of a proxy, so that its address is not that of who asks. */
  readonly isProxied: boolean
}

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/** Decides who somebody is (AUTH-1). */
export class Authenticator {
  readonly #tokens: TokenStore | null
  readonly #isLoopback: boolean
  readonly #notes: AccessNotes
  /** Of one address. A right token is taken all the same: others may be behind it. */
  readonly #failures: TokenBuckets
  /** What each showed who was let in; no longer than somebody has the identity. */
  readonly #tokenOf = new WeakMap<Identity, string>()
  /** Once there were tokens, nobody is let in without one (TOKEN-1). */
  #hadTokens = false

  constructor(parts: {
    readonly tokens: TokenStore | null
    readonly isLoopback: boolean
    readonly notes: AccessNotes
    readonly refusals: Rate
  }) {
    this.#tokens = parts.tokens
    this.#isLoopback = parts.isLoopback
    this.#notes = parts.notes
    this.#failures = new TokenBuckets(parts.refusals)
  }

  /** Whether everybody is let in as a local admin. */
  get isOpen(): boolean {
    const tokens = this.#tokens
    if (!this.#isLoopback || this.#hadTokens) return false
    this.#hadTokens = tokens !== null && !readably(() => tokens.isEmpty())
    return !this.#hadTokens
  }

  async identify({ token, address, host, isProxied }: AuthAttempt): Promise<Identity> {
    const tokens = this.#tokens
    const identity =
      token === null || tokens === null ? null : await readably(() => tokens.verify(token))
    if (identity !== null && token !== null) {
      this.#tokenOf.set(identity, token)
      return identity
    }
    if (this.isOpen) {
      // Everybody behind a proxy comes from its address, and would be an admin.
      if (isProxied) throw this.#refusal(address, 'proxied', NO_TOKENS_BEHIND_PROXY)
      // A page in a browser can be made to resolve its own name to this address; its Host gives it away.
      if (host !== undefined && LOOPBACK_HOST.test(host)) return LOCAL_ADMIN
      throw this.#refusal(address, 'foreign_host', 'ask for localhost or 127.0.0.1 by that name')
    }
    if (token === null) {
      throw this.#refusal(address, 'no_token', 'send a header "Authorization: Bearer <token>"')
    }
    throw this.#refusal(address, 'wrong_token', 'the token is unknown, revoked or expired')
  }

  /** Why somebody who was let in may not stay; null where it may. */
  async endOf(identity: Identity): Promise<'ended' | 'changed' | 'tokens' | null> {
    if (identity === LOCAL_ADMIN) return this.isOpen ? null : 'tokens'
    const token = this.#tokenOf.get(identity)
    const now = token === undefined ? null : await this.#tokens?.verify(token)
    if (now == null) return 'ended'
    return JSON.stringify(now) === JSON.stringify(identity) ? null : 'changed'
  }

  #refusal(address: string, reason: string, advice: string): FairleadError {
    this.#notes.unauthorized(address, reason)
    const wait = this.#failures.take(address, 1, performance.now())
    if (wait > 0) {
      return new FairleadError('RateLimited', `too many refused attempts; wait ${wait} ms`, {
        retry_after_ms: wait,
      })
    }
    return new FairleadError('Unauthorized', advice, { reason })
  }
}

const NO_TOKENS_BEHIND_PROXY =
  'this server has no tokens, and behind a proxy it needs them; its operator creates the first with "fairlead token create --role admin --subject <name>"'

/** What is wrong with the tokens is the operator's affair, not the caller's. */
function readably<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (cause) {
    throw new FairleadError(
      'StoreUnavailable',
      'the tokens of the server cannot be read; tell its operator',
      {},
      { cause },
    )
  }
}

/** The attempt that a request makes. */
export function authAttemptOf(
  { headers }: IncomingMessage,
  address: string,
  token = bearerOf(headers.authorization),
): AuthAttempt {
  const isProxied = Object.keys(headers).some(
    (name) => name === 'forwarded' || name.startsWith('x-forwarded-'),
  )
  return { token, address, host: headers.host, isProxied }
}

/** The token of an Authorization header. */
export function bearerOf(header: string | undefined): string | null {
  return /^Bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? null
}

/** The HTTP status of a refusal to let somebody in. */
export function statusOf({ code }: FairleadError): number {
  if (code === 'RateLimited') return 429
  return code === 'StoreUnavailable' ? 503 : 401
}
