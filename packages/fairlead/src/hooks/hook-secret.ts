import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { FairleadError } from '@fairlead/core'

/** Where a secret is: `${env:NAME}`, or `${file:path}` from this folder. */
export interface SecretPlace {
  readonly reference: string
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

/** The headers by which a receiver knows that a delivery is ours and new (HOOK-5). */
export interface SignedHeaders {
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/**
 * Keys of a webhook. While a secret is replaced there may be several, and a delivery has a signature by each. The text of
 * a secret occurs in no message.
 */
export function readSecret({ reference, folder, env }: SecretPlace): readonly Uint8Array[] {
  const [, from, place = ''] = /^\$\{(env|file):(.+)\}$/.exec(reference) ?? []
  const name = from === 'env' ? `the variable ${place}` : resolve(folder, place)
  const text = from === 'env' ? (env[place] ?? '') : readText(name)
  const keys = text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map(keyOf)
  if (keys.length > 0 && keys.every((key) => key !== null)) return keys
  throw new FairleadError(
    'InvalidParams',
    `secret: expected 24 to 64 bytes as base64 in ${name}, as "openssl rand -base64 32" makes them`,
    { field: 'secret' },
  )
}

/** The signature scheme of Standard Webhooks: HMAC-SHA-256 over id, time in seconds and body. */
export function signedHeaders(
  { id, body, secs }: { readonly id: string; readonly body: string; readonly secs: number },
  keys: readonly Uint8Array[],
): SignedHeaders {
  const signatures = keys.map((key) => {
    const mac = createHmac('sha256', key).update(`${id}.${secs}.${body}`).digest('base64')
    return `v1,${mac}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(secs),
    'webhook-signature': signatures.join(' '),
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new FairleadError(
      'InvalidParams',
      `secret: cannot read ${path} (${code}); make it, or name another file`,
      { field: 'secret' },
    )
  }
}

function keyOf(word: string): Uint8Array | null {
  const text = word.replace(/^whsec_/, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null
  const key = Buffer.from(text, 'base64')
  return key.length >= 24 && key.length <= 64 ? key : null
}
