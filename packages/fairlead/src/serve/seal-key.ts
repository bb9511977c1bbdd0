import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { FairleadError } from '@fairlead/core'
import type { Sealed } from '@fairlead/store/sqlite'
import { besideStore, shownStore } from '../storage/store-address.ts'

const KEY_BYTES = 32

/** Keys of a store, the first of which encrypts. */
export interface SealKeys {
  readonly keys: readonly Uint8Array[]
  /** Writes a new key to its file. Nothing may be encrypted with it before. */
  readonly keep: () => void
}

/** The file is beside the store, and belongs into every backup of it. */
export function keyPath(storePath: string): string {
  return `${besideStore(storePath)}.key`
}

/**
 * The keys that personal data is encrypted with (AUDIT-9): in a file that only its owner may read, a key a line as hex.
 * The first one encrypts, so a new line on top changes the key. A store without encrypted data gets a new key. For any
 * other a missing file is an error (FILES-3), unless `mayReplace`.
 */
export async function sealKeys(
  storePath: string,
  store: { sealed(): Promise<Sealed[]> },
  { mayReplace }: { readonly mayReplace: boolean },
): Promise<SealKeys> {
  const path = keyPath(storePath)
  const keys = readSealKeys(path)
  if (keys !== null) return { keys, keep: () => {} }
  const sealed = await store.sealed()
  if (sealed.length > 0 && !mayReplace) {
    throw new FairleadError(
      'StoreUnavailable',
      `${path} is missing, and without it ${sealedText(sealed)} in ${shownStore(storePath)} cannot be read; ` +
        'put the file back from a backup, or start once with --new-key: these stay unreadable, and a new key is made for what comes',
      { reason: 'key_missing', path, ...sumOf(sealed) },
    )
  }
  const key = randomBytes(KEY_BYTES)
  const keep = (): void =>
    writeFileSync(path, `${key.toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true })
  return { keys: [key], keep }
}

/** Null where there is no such file. */
export function readSealKeys(path: string): readonly Uint8Array[] | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const keys = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const isSound = keys.length > 0 && keys.every((key) => /^[0-9a-f]{64}$/.test(key))
  if (isSound) return keys.map((key) => Buffer.from(key, 'hex'))
  throw new FairleadError(
    'InvalidParams',
    `${path}: expected keys of 64 hex digits, one a line; put back the file that belongs to the store`,
    { field: 'key file' },
  )
}

/** How much that is, in words. */
export function sealedText(sealed: readonly Sealed[]): string {
  const { registrations, results } = sumOf(sealed)
  return `${counted(registrations, 'registration')} and ${counted(results, 'result')}`
}

function sumOf(sealed: readonly Sealed[]): Omit<Sealed, 'keyId'> {
  const sum = (of: 'registrations' | 'results') => sealed.reduce((all, one) => all + one[of], 0)
  return { registrations: sum('registrations'), results: sum('results') }
}

function counted(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`
}
