import type { Role } from '@fairlead/protocol'

/** Who calls, as its token says. */
export interface Identity {
  readonly tokenId: string
  readonly role: Role
  /** A requester's name, a provider's id, an operator's name. */
  readonly subject: string
  /** Of the jobs that it enqueues. */
  readonly tier: string
}

/** Knows tokens by what they hash to, never by themselves. */
export interface TokenStore {
  /** Null for one that is unknown, revoked or past its time. */
  verify(token: string): Promise<Identity | null> | Identity | null
  /** Whether there is no token at all: then a loopback server lets everybody in as a local admin. */
  isEmpty(): boolean
}

/** Everybody on a loopback server without tokens (AUTH-2). */
export const LOCAL_ADMIN: Identity = {
  tokenId: 'local',
  role: 'admin',
  subject: 'local',
  tier: 'FREE',
}
