import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createSecureContext, type SecureContextOptions, type Server as TlsServer } from 'node:tls'
import { FairleadError } from '@fairlead/core'
import type { Logger } from '../log.ts'

/** Files in PEM. */
export interface TlsPaths {
  /** The certificate of the server, with those between it and its root. */
  readonly cert: string
  readonly key: string
  /** Whose certificates clients have to show; left out, they show none. */
  readonly clientCa?: string
}

/** So often the files are looked at. Watching would miss a link that is turned to another folder. */
const LOOK_MS = 1_000

/** A server for HTTP, over TLS where there are files for it (TLS-1). */
export function newServer(
  tls: TlsFiles | null,
  options: { readonly connectionsCheckingInterval: number; readonly handshakeTimeout: number },
  listener: RequestListener,
): Server {
  if (tls === null) return createHttpServer(options, listener)
  const requestCert = tls.hasClientCa
  const server = createHttpsServer(
    { ...options, ...tls.context, requestCert, rejectUnauthorized: requestCert },
    listener,
  )
  // First of all who listen: an answer in clear text would wait for ever for the end of the handshake.
  server.prependListener('tlsClientError', (_, socket) => socket.destroy())
  return server
}

/** The certificate and key of a server, followed as they are renewed (TLS-2). */
export class TlsFiles {
  readonly #paths: TlsPaths
  #version: string
  #context: SecureContextOptions

  /** Throws `InvalidParams` that names the file that will not do. */
  constructor(paths: TlsPaths) {
    this.#paths = paths
    this.#version = versionOf(paths)
    this.#context = readContext(paths)
  }

  get context(): SecureContextOptions {
    return this.#context
  }

  get hasClientCa(): boolean {
    return this.#paths.clientCa !== undefined
  }

  /** New connections get what the files say now; those that are open stay. Gives the end of that. */
  follow(server: TlsServer, logger: Logger): () => void {
    const look = (): void => {
      const version = versionOf(this.#paths)
      if (version === this.#version) return
      this.#version = version
      try {
        this.#context = readContext(this.#paths)
        server.setSecureContext(this.#context)
        logger.info({ valid_to: validTo(this.#context) }, 'the certificate was read again')
      } catch (err) {
        logger.error({ err }, 'the certificate stays as it was: the new files will not do')
      }
    }
    const timer = setInterval(look, LOOK_MS).unref()
    return () => clearInterval(timer)
  }

  /** When the certificate ends, as it says. */
  get validTo(): string {
    return validTo(this.#context)
  }
}

function readContext({ cert, key, clientCa }: TlsPaths): SecureContextOptions {
  const context = {
    cert: readPem('tls_cert', cert),
    key: readPem('tls_key', key),
    ...(clientCa === undefined ? {} : { ca: readPem('tls_client_ca', clientCa) }),
  }
  checkCertificate('tls_cert', cert, context.cert)
  if (clientCa !== undefined) checkCertificate('tls_client_ca', clientCa, context.ca as string)
  try {
    createSecureContext(context)
  } catch (cause) {
    throw wrongFile('tls_key', key, `the key of ${cert}: ${(cause as Error).message}`, cause)
  }
  return context
}

function readPem(field: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw wrongFile(field, path, `a file that can be read: ${(cause as Error).message}`, cause)
  }
}

function checkCertificate(field: string, path: string, pem: string): void {
  try {
    new X509Certificate(pem)
  } catch (cause) {
    throw wrongFile(field, path, 'a certificate in PEM', cause)
  }
}

function wrongFile(field: string, path: string, expected: string, cause: unknown): FairleadError {
  const text = `server.${field}: ${path}: expected ${expected}`
  return new FairleadError('InvalidParams', text, { field: `server.${field}` }, { cause })
}

function validTo({ cert }: SecureContextOptions): string {
  return new Date(new X509Certificate(cert as string).validTo).toISOString()
}

/** Changes whenever one of the files does; one that is missing for a moment changes it too. */
function versionOf({ cert, key, clientCa }: TlsPaths): string {
  const paths = clientCa === undefined ? [cert, key] : [cert, key, clientCa]
  return paths
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false, bigint: true })
      return stat === undefined ? 'none' : `${stat.ino} ${stat.mtimeNs} ${stat.size}`
    })
    .join(' ')
}
