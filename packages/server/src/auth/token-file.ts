import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { FairleadError, invalidParams, isProviderName } from '@fairlead/core'
import { ROLES, type Role } from '@fairlead/protocol'
import type { Identity, TokenStore } from './identity.ts'
import { lockedWrite } from './locked-write.ts'

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
}

export interface NewToken {
  readonly role: Role
  readonly subject: string
  readonly tier?: string
  readonly expiresAt?: number | null
}

interface StoredToken extends TokenRecord {
  /** SHA-256 of the secret part, in hex. A secret of 32 random bytes needs no slow hash. */
  readonly hash: string
}

/** A token that was revoked is noticed after this long at the latest, a new one at once. */
const STALE_MS = 250
const TOKEN = /^flt_([0-9a-f]{12})_([\w-]{43})$/

/**
 * Tokens in a JSON file beside the database, hashed (AUTH-3). Any number of processes may read and
 * write it: it is replaced as a whole, under a lock, and read again whenever it has changed. So
 * `fairlead token create` works while the server runs.
 */
export class TokenFile implements TokenStore {
  readonly path: string
  #byId = new Map<string, StoredToken>()
  #version = ''
  #lookedAt = 0

  constructor(path: string) {
    this.path = path
    this.#refresh()
  }

  /** Makes a token. It is shown this once; nobody can find it out again. */
  create(wanted: NewToken): { readonly token: string; readonly record: TokenRecord } {
    const { role, subject, tier = 'FREE', expiresAt = null } = checked(wanted)
    const id = randomBytes(6).toString('hex')
    const secret = randomBytes(32).toString('base64url')
    const createdAt = Date.now()
    const record = { id, role, subject, tier, createdAt, expiresAt, revokedAt: null }
    this.#change((tokens) => [...tokens, { ...record, hash: hashOf(secret).toString('hex') }])
    return { token: `flt_${id}_${secret}`, record }
  }

  /** All of them, oldest first, those that are over too. */
  list(): TokenRecord[] {
    this.#refresh()
    return [...this.#byId.values()].map(withoutHash)
  }

  /** Ends a token for good. */
  revoke(id: string): TokenRecord {
    this.#refresh()
    const found = this.#byId.get(id)
    if (found === undefined) {
      throw new FairleadError(
        'NotFound',
        `there is no token ${id}; list them to see which there are`,
      )
    }
    const revokedAt = found.revokedAt ?? Date.now()
    this.#change((tokens) => tokens.map((one) => (one.id === id ? { ...one, revokedAt } : one)))
    return withoutHash({ ...found, revokedAt })
  }

  verify(token: string): Identity | null {
    if (Date.now() - this.#lookedAt > STALE_MS) this.#refresh()
    const [, id = '', secret = ''] = TOKEN.exec(token) ?? []
    if (!this.#byId.has(id)) this.#refresh()
    const found = this.#byId.get(id)
    // Compared in any case, so that a known id takes as long as an unknown one.
    const expected = Buffer.from(found?.hash ?? NO_HASH, 'hex')
    const isRight = timingSafeEqual(hashOf(secret), expected)
    if (found === undefined || !isRight || isOver(found)) return null
    const { role, subject, tier } = found
    return { tokenId: id, role, subject, tier }
  }

  isEmpty(): boolean {
    if (Date.now() - this.#lookedAt > STALE_MS) this.#refresh()
    return this.#byId.size === 0
  }

  #change(change: (tokens: readonly StoredToken[]) => readonly StoredToken[]): void {
    lockedWrite(this.path, () => {
      this.#refresh()
      return `${JSON.stringify({ version: 1, tokens: change([...this.#byId.values()]) }, null, 2)}\n`
    })
    this.#refresh()
  }

  #refresh(): void {
    const version = versionOf(this.path)
    if (version !== this.#version) {
      this.#byId = version === NO_FILE ? new Map() : readTokens(this.path)
      this.#version = version
    }
    // Only now: while the file cannot be read, nobody is let in by what it said before.
    this.#lookedAt = Date.now()
  }
}

const NO_FILE = 'none'
const NO_HASH = '00'.repeat(32)

/** Changes whenever the file was replaced. */
function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? NO_FILE : `${stat.ino} ${stat.mtimeNs} ${stat.size}`
}

function readTokens(path: string): Map<string, StoredToken> {
  try {
    const { version, tokens } = JSON.parse(readFileSync(path, 'utf8')) as {
      version: unknown
      tokens: StoredToken[]
    }
    if (version !== 1) throw new Error(`version ${String(version)} is not known`)
    return new Map(tokens.map((token) => [token.id, token]))
  } catch (cause) {
    // A file that cannot be read must never count as one without tokens.
    throw new FairleadError(
      'Internal',
      `the tokens file ${path} cannot be read; restore it, or remove it and create the tokens anew`,
      {},
      { cause },
    )
  }
}

function withoutHash(stored: StoredToken): TokenRecord {
  const { id, role, subject, tier, createdAt, expiresAt, revokedAt } = stored
  return { id, role, subject, tier, createdAt, expiresAt, revokedAt }
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

function isOver({ revokedAt, expiresAt }: TokenRecord): boolean {
  return revokedAt !== null || (expiresAt !== null && expiresAt <= Date.now())
}

function checked(wanted: NewToken): NewToken {
  const { role, subject, tier, expiresAt } = wanted
  if (!ROLES.includes(role)) throw invalidParams('role', `one of ${ROLES.join(', ')}`)
  if (role === 'provider' && !isProviderName(subject)) {
    throw invalidParams('subject', 'the provider’s id: provider: and 1 to 64 of a–z, 0–9 and ._-')
  }
  if (subject === '' || subject.length > 256 || !subject.isWellFormed()) {
    throw invalidParams('subject', 'a name of 1 to 256 characters')
  }
  if (tier !== undefined && !/^[A-Z][A-Z0-9_]{0,31}$/.test(tier)) {
    throw invalidParams('tier', 'the name of a tier, such as FREE, PRO or PREMIUM')
  }
  if (typeof expiresAt === 'number' && !(expiresAt > Date.now())) {
    throw invalidParams('expires', 'a time in the future')
  }
  return wanted
}
