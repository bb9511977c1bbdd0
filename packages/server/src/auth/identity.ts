import type { FairleadError } from '@fairlead/core'
import type { Role } from '@fairlead/protocol'
import type { TokenScope } from './scope.ts'

/** Who calls, as its token says. */
export interface Identity {
  readonly tokenId: string
  readonly role: Role
  /** A requester's name, a provider's id, an operator's name. */
  readonly subject: string
  /** Of the jobs that it enqueues. */
  readonly tier: string
  /** Left out: all that the role may, except that a provider gets no registrations (SCOPE-1). */
  readonly scope?: TokenScope
}

/** A token as it is kept: all but the token itself. */
export interface TokenRecord {
  readonly id: string
  readonly role: Role
  readonly subject: string
  readonly tier: string
  readonly createdAt: number
  /** Null: it never expires. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  readonly scope: TokenScope | null
}

/** Knows tokens by what they hash to, never by themselves. */
export interface TokenStore {
  /** Null for one that is unknown, revoked or past its time. */
  verify(token: string): Promise<Identity | null> | Identity | null
  /** Whether there is no token at all: then a loopback server lets everybody in as a local admin. */
  isEmpty(): boolean
  /** All there are, for the audit log, each with a digest that changes with anything of it. */
  audited?(): readonly AuditedToken[]
  /**
   * Tells of every change, and with an error when the tokens cannot be read. Gives the end of that. Without it a
   * token that is over is noticed when its socket is pinged.
   */
  watch?(tell: (problem: FairleadError | null) => void): () => void
}

export type AuditedToken = TokenRecord & { readonly digest: string }

/** Everybody on a loopback server without tokens (AUTH-2). */
export const LOCAL_ADMIN: Identity = {
  tokenId: 'local',
  role: 'admin',
  subject: 'local',
  tier: 'FREE',
}
