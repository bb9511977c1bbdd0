import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { lstatSync, readFileSync, statSync } from 'node:fs'
import { FairleadError } from '@fairlead/core'
import { invalidParams, isProviderName } from '@fairlead/core/internal'
import { ROLES, type Role } from '@fairlead/protocol'
import type { AuditedToken, Identity, TokenRecord, TokenStore } from './identity.ts'
import { lockedWrite } from './locked-write.ts'
import { checkedScope, type TokenScope } from './scope.ts'

export type { TokenRecord } from './identity.ts'
export { type ScopeList, scopeText, type TokenScope } from './scope.ts'

export interface NewToken {
  readonly role: Role
  readonly subject: string
  readonly tier?: string
  readonly expiresAt?: number | null
  readonly scope?: TokenScope | null
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
    const scope = checkedScope(wanted.scope, role)
    const id = randomBytes(6).toString('hex')
    const secret = randomBytes(32).toString('base64url')
    const createdAt = Date.now()
    const record = { id, role, subject, tier, createdAt, expiresAt, revokedAt: null, scope }
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
    return this.#replace(id, (found) => ({ ...found, revokedAt: found.revokedAt ?? Date.now() }))
  }

  /** Holds a token to another scope: what is left out stays, and `*` stands for all names of a list. */
  changeScope(id: string, change: { readonly [Field in keyof TokenScope]?: unknown }): TokenRecord {
    return this.#replace(id, (found) => {
      if (isOver(found)) {
        throw new FairleadError('InvalidState', `the token ${id} is over; create another one`)
      }
      return { ...found, scope: checkedScope({ ...found.scope, ...change }, found.role) }
    })
  }

  verify(token: string): Identity | null {
    if (Date.now() - this.#lookedAt > STALE_MS) this.#refresh()
    const [, id = '', secret = ''] = TOKEN.exec(token) ?? []
    if (!this.#byId.has(id)) this.#refresh()
    const found = this.#byId.get(id)
    // Compared in any case, so that a known id takes as long as an unknown one.
    const expected = Buffer.from(found?.hash ?? NO_HASH, 'hex')
    const isRight = timingSafeEqual(hashOf(secret), expected)
    return found === undefined || !isRight ? null : identityOf(found)
  }

  isEmpty(): boolean {
    // Without tokens everybody is let in: the first one ends that at once.
    if (this.#byId.size === 0 || Date.now() - this.#lookedAt > STALE_MS) this.#refresh()
    return this.#byId.size === 0
  }

  audited(): AuditedToken[] {
    this.#refresh()
    return [...this.#byId.values()].map((stored) => ({
      ...withoutHash(stored),
      digest: createHash('sha256').update(JSON.stringify(stored)).digest('hex'),
    }))
  }

  watch(tell: (problem: FairleadError | null) => void): () => void {
    let told = this.#state()
    const look = (): void => {
      const [problem, state] = this.#look()
      if (state === told) return
      told = state
      tell(problem)
    }
    const timer = setInterval(look, STALE_MS).unref()
    return () => clearInterval(timer)
  }

  #look(): [problem: FairleadError | null, state: string] {
    try {
      this.#refresh()
      return [null, this.#state()]
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      return [error, error.message]
    }
  }

  /** Changes with the file, and when a token expires. */
  #state(): string {
    return `${this.#version} ${[...this.#byId.values()].filter(isOver).length}`
  }

  #replace(id: string, change: (found: StoredToken) => StoredToken): TokenRecord {
    let changed: StoredToken | undefined
    this.#change((tokens) => {
      const found = tokens.find((one) => one.id === id)
      if (found === undefined) {
        const text = `there is no token ${id}; list them to see which there are`
        throw new FairleadError('NotFound', text)
      }
      const next = change(found)
      changed = next
      return tokens.map((one) => (one === found ? next : one))
    })
    return withoutHash(changed as StoredToken)
  }

  #change(change: (tokens: readonly StoredToken[]) => readonly StoredToken[]): void {
    lockedWrite(this.path, () => {
      this.#refresh()
      const tokens = change([...this.#byId.values()])
      // An older program would let a token do what its scope forbids: it refuses a version that it does not know.
      const version = tokens.some(({ scope }) => scope !== null) ? 2 : 1
      return `${JSON.stringify({ version, tokens }, null, 2)}\n`
    })
    this.#refresh()
  }

  #refresh(): void {
    const version = versionOf(this.path)
    if (version !== this.#version) {
      const byId = version === NO_FILE ? new Map<string, StoredToken>() : readTokens(this.path)
      if (byId.size === 0 && this.#byId.size > 0) throw tokensGone(this.path)
      this.#byId = byId
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
  if (stat !== undefined) return `${stat.ino} ${stat.mtimeNs} ${stat.size}`
  // A link means that there are tokens somewhere.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return NO_FILE
  throw new FairleadError(
    'Internal',
    `the tokens file ${path} is a link to nothing; restore the file that it leads to, or remove the link`,
  )
}

/** TOKEN-1: tokens that are gone are not the same as none. */
function tokensGone(path: string): FairleadError {
  return new FairleadError(
    'Internal',
    `the tokens file ${path} had tokens and has none now; restore it, or stop the server and create tokens anew`,
  )
}

function readTokens(path: string): Map<string, StoredToken> {
  try {
    const { version, tokens } = JSON.parse(readFileSync(path, 'utf8')) as {
      version: unknown
      tokens: StoredToken[]
    }
    if (version !== 1 && version !== 2) throw new Error(`version ${String(version)} is not known`)
    return new Map(
      tokens.map((token) => [token.id, { ...token, scope: checkedScope(token.scope, token.role) }]),
    )
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
  const { id, role, subject, tier, createdAt, expiresAt, revokedAt, scope } = stored
  return { id, role, subject, tier, createdAt, expiresAt, revokedAt, scope }
}

/** Null once it is over. */
function identityOf(stored: StoredToken): Identity | null {
  if (isOver(stored)) return null
  const { id: tokenId, role, subject, tier, scope } = stored
  return { tokenId, role, subject, tier, ...(scope === null ? {} : { scope }) }
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
