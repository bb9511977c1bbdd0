import { hostname } from 'node:os'
import { invalidParams } from '@fairlead/core/internal'
import type { ClientConfig } from 'pg'

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=verify-full` and so on. */
  readonly url: string
  /** The schema that has the store, and nothing else; `fairlead` if left out. It is made where it is not there. */
  readonly schema?: string
  /** The name of this node, for people; host and process if left out. */
  readonly node?: string
}

/** An address whose text was checked. */
export interface Address {
  readonly url: string
  readonly schema: string
  readonly node: string
  /** As messages show it: without the password. */
  readonly shown: string
}

export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(text)
}

export function addressOf({
  url,
  schema = 'fairlead',
  node = nodeName(),
}: PostgresOptions): Address {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw invalidParams('schema', 'lower-case letters, digits and _, at most 63', schema)
  }
  return { url, schema, node, shown: `${shownUrl(url)} (schema ${schema})` }
}

/** The URL without its password. Any other text is an error that does not repeat it. */
export function shownUrl(url: string): string {
  const parsed = isPostgresUrl(url) && URL.canParse(url) ? new URL(url) : null
  if (parsed === null) {
    throw invalidParams(
      'url',
      'postgres://user:password@host:port/database; encode / and # in the password',
    )
  }
  const user = parsed.username === '' ? '' : `${parsed.username}@`
  // A host may also be given behind the question mark, as the folder of a socket.
  const host = parsed.host === '' ? (parsed.searchParams.get('host') ?? '') : parsed.host
  return `postgres://${user}${host}${parsed.pathname}`
}

function nodeName(): string {
  return `${hostname()}:${process.pid}`
}

/** Time that a connection may take, and how long one that is idle in a transaction keeps its locks. */
const CONNECT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 10_000
/** Statements find their rows by keys, or come in pages. The server ends one that takes longer. */
const STATEMENT_MS = 60_000
/** A server that does not say even that is away. */
const ANSWER_MS = STATEMENT_MS + 5_000

/** For connections that write, each statement finds its rows by a key, also while tables are too new for statistics. */
const BY_KEY = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'].map(
  (name) => `-c ${name}=off`,
)

export function configOf(
  { url, schema }: Address,
  { purpose, writes = false }: { readonly purpose: string; readonly writes?: boolean },
): ClientConfig {
  const own = new URL(url).searchParams.get('options')
  const options = [...(own === null ? [] : [own]), `-c search_path=${schema}`]
  if (writes) options.push(...BY_KEY)
  const address = new URL(url)
  address.searchParams.delete('options')
  return {
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    query_timeout: ANSWER_MS,
    // The URL goes over what stands before it.
    connectionString: address.href,
    options: options.join(' '),
    application_name: `fairlead ${purpose}`,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
  }
}
