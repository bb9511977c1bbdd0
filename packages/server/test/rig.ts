import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CborValue, decodeCbor, encodeCbor, FairleadError } from '@fairlead/core'
import { jsonOf } from '@fairlead/core/internal'
import { type Engine, openEngine } from '@fairlead/engine'
import {
  errorOfRpc,
  METHODS,
  type MethodName,
  PAYLOADS,
  type ParamsOf,
  type ResultOf,
  type RpcErrorObject,
  wireCodec,
} from '@fairlead/protocol'
import {
  MeteredStore,
  type RunningServer,
  type ServerOptions,
  startServer,
  TokenFile,
} from '@fairlead/server'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { MemoryStore } from '@fairlead/testkit'
import { RawSocket } from './raw-socket.ts'

const EVERYTHING = { kinds: ['*'], platforms: ['*'] }

/** People of the tests; each has a token. */
export const PEOPLE = {
  alice: { role: 'requester', subject: 'alice', tier: 'PRO' },
  bob: { role: 'requester', subject: 'bob' },
  atlas: { role: 'provider', subject: 'provider:atlas', scope: EVERYTHING },
  borea: { role: 'provider', subject: 'provider:borea', scope: EVERYTHING },
  operator: { role: 'operator', subject: 'olga' },
  admin: { role: 'admin', subject: 'ada' },
  auditor: { role: 'auditor', subject: 'aud' },
} as const
export type Person = keyof typeof PEOPLE

export type FormName = 'json' | 'cbor'

export interface RigOptions {
  /** False: a loopback server without tokens. */
  readonly tokens?: boolean
  readonly limits?: ServerOptions['limits']
  readonly policy?: unknown
  readonly origins?: readonly string[]
  readonly logger?: ServerOptions['logger']
  readonly limiter?: ServerOptions['limiter']
  readonly otlpEndpoint?: string
  /** The audit log tells of the people's tokens; else it begins with what a test does. */
  readonly auditsTokens?: boolean
  /** On a file, as in earnest; else in memory. */
  readonly isOnFile?: boolean
}

class UnauditedTokens extends TokenFile {
  override audited(): [] {
    return []
  }
}

/** A server with its engine and people, on a port of its own. */
export class Rig {
  readonly store: MemoryStore
  readonly engine: Engine
  readonly server: RunningServer
  readonly tokenFile: TokenFile
  readonly tokens: Readonly<Record<Person, string>>
  /** Of its files. */
  readonly folder: string
  readonly #sockets: RawSocket[] = []

  private constructor(parts: {
    store: MemoryStore
    engine: Engine
    server: RunningServer
    tokenFile: TokenFile
    tokens: Record<Person, string>
    folder: string
  }) {
    this.store = parts.store
    this.engine = parts.engine
    this.server = parts.server
    this.tokenFile = parts.tokenFile
    this.tokens = parts.tokens
    this.folder = parts.folder
  }

  static async open(options: RigOptions = {}): Promise<Rig> {
    const { tokens: hasTokens = true, policy = {}, limits, origins, logger } = options
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-server-'))
    const Tokens = options.auditsTokens === true ? TokenFile : UnauditedTokens
    const tokenFile = new Tokens(join(folder, 'tokens.json'))
    const tokens = Object.fromEntries(
      Object.entries(PEOPLE).map(([name, wanted]) => [
        name,
        hasTokens ? tokenFile.create(wanted).token : '',
      ]),
    ) as Record<Person, string>
    const store = new MemoryStore()
    const metered = new MeteredStore(
      options.isOnFile === true ? await openSqliteStore(join(folder, 'fairlead.db')) : store,
    )
    const engine = await openEngine({ store: metered, policy })
    const server = await startServer({
      engine,
      store: metered,
      listen: { host: '127.0.0.1', port: 0 },
      tokens: tokenFile,
      ...(limits === undefined ? {} : { limits }),
      ...(origins === undefined ? {} : { origins }),
      ...(logger === undefined ? {} : { logger }),
      ...(options.limiter === undefined ? {} : { limiter: options.limiter }),
      ...(options.otlpEndpoint === undefined ? {} : { otlpEndpoint: options.otlpEndpoint }),
    })
    return new Rig({ store, engine, server, tokenFile, tokens, folder })
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate()
    await this.server.close(1_000)
    await this.engine.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** The result of a call over HTTP; a refusal is thrown as the error that it is. */
  async call<Name extends MethodName>(
    as: Person | null,
    method: Name,
    params?: ParamsOf<Name>,
    form: FormName = 'json',
  ): Promise<ResultOf<Name>> {
    const { body } = await this.post(as, { jsonrpc: '2.0', id: 1, method, params }, form)
    const { result, error } = body as { result?: ResultOf<Name>; error?: RpcErrorObject }
    if (error !== undefined) throw errorOfRpc(error)
    return result as ResultOf<Name>
  }

  /** The code of the refusal of a call, or `ok`. */
  async outcome(
    as: Person | null,
    method: MethodName,
    params?: unknown,
    form: FormName = 'json',
  ): Promise<string> {
    try {
      await this.call(as, method, params as ParamsOf<MethodName>, form)
      return 'ok'
    } catch (error) {
      if (error instanceof FairleadError) return error.code
      throw error
    }
  }

  /** Any message over HTTP, with the answer in its JSON form. */
  async post(
    as: Person | null,
    message: unknown,
    form: FormName = 'json',
    headers: Record<string, string> = {},
  ): Promise<{ status: number; headers: Headers; body: unknown }> {
    const data = form === 'json' ? JSON.stringify(message) : encodeCbor(inCbor(message))
    const response = await this.raw(as, data, `application/${form}`, headers)
    const bytes = new Uint8Array(await response.arrayBuffer())
    const body = bytes.length === 0 ? null : readBody(bytes, response.headers.get('content-type'))
    return { status: response.status, headers: response.headers, body }
  }

  raw(
    as: Person | null,
    body: string | Uint8Array,
    contentType = 'application/json',
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(`${this.server.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': contentType, ...this.authorization(as), ...headers },
      body: body as NonNullable<RequestInit['body']>,
    })
  }

  /** Any request in JSON, with its answer. */
  async json(
    as: Person | null,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<{ status: number; headers: Headers; body: unknown }> {
    const response = await fetch(`${this.server.url}${path}`, {
      method,
      headers: { ...this.authorization(as), 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  get(path: string, as: Person | null = null): Promise<Response> {
    return fetch(`${this.server.url}${path}`, { headers: this.authorization(as) })
  }

  authorization(as: Person | null): Record<string, string> {
    return as === null ? {} : { authorization: `Bearer ${this.tokens[as]}` }
  }

  async socket(
    as: Person | null,
    options: { readonly protocols?: string[]; readonly headers?: Record<string, string> } = {},
  ): Promise<RawSocket> {
    const socket = new RawSocket(`${this.server.url.replace('http', 'ws')}/ws`, {
      protocols: options.protocols ?? [],
      headers: { ...this.authorization(as), ...options.headers },
    })
    this.#sockets.push(socket)
    await socket.opened
    return socket
  }
}

/** A message as a speaker of CBOR sends it: bytes where JSON has hex. */
export function inCbor(message: unknown): CborValue {
  if (Array.isArray(message)) return message.map(inCbor)
  if (typeof message !== 'object' || message === null) return message as CborValue
  const { method, params, ...rest } = message as { method?: MethodName; params?: unknown }
  const known = typeof method === 'string' && Object.hasOwn(METHODS, method)
  const convert = (one: unknown): CborValue =>
    known ? paramsInCbor(method, one) : (one as CborValue)
  return {
    ...(rest as Record<string, CborValue>),
    ...(method === undefined ? {} : { method }),
    ...(params === undefined
      ? {}
      : { params: Array.isArray(params) ? params.map(convert) : convert(params) }),
  }
}

function paramsInCbor(method: MethodName, params: unknown): CborValue {
  const cbor = wireCodec(METHODS[method].params).toCbor(params) as Record<string, CborValue>
  const { kind, payload } = (params ?? {}) as { kind?: keyof typeof PAYLOADS; payload?: unknown }
  if (payload === undefined || kind === undefined || !Object.hasOwn(PAYLOADS, kind)) return cbor
  return { ...cbor, payload: wireCodec(PAYLOADS[kind]).toCbor(payload) }
}

function readBody(bytes: Uint8Array, contentType: string | null): unknown {
  if (contentType === 'application/cbor') return jsonOf(decodeCbor(bytes))
  const text = Buffer.from(bytes).toString('utf8')
  return contentType === 'application/json' ? (JSON.parse(text) as unknown) : text
}

export const TASK = { kind: 'task', payload: { name: 'resize', args: { width: 640 } } } as const
export const AI = {
  kind: 'ai',
  payload: { model: 'llama3-8b', prompt: '0x48656c6c6f', max_tokens: 256, temperature: 0.5 },
} as const
export const NO_ID = `0x${'00'.repeat(32)}`
