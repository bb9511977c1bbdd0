import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { FairleadError } from '@fairlead/core'

const KEY_BYTES = 32

/**
 * The keys that personal data is encrypted with (AUDIT-9): in a file beside the store that only its
 * owner may read, a key a line as hex. The first one encrypts, so a new line on top changes the key. One
 * is made where there is none; it belongs into every backup of the store, and without it no registration
 * can be read again.
 */
export function sealKeys(storePath: string): Uint8Array[] {
  const path = `${storePath}.key`
  try {
    // Only one of two that start at once makes the file; both read what is in it then.
    const text = `${randomBytes(KEY_BYTES).toString('hex')}\n`
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const lines = readFileSync(path, 'utf8').split('\n')
  const keys = lines.map((line) => line.trim()).filter((line) => line !== '')
  const isSound = keys.length > 0 && keys.every((key) => /^[0-9a-f]{64}$/.test(key))
  if (isSound) return keys.map((key) => Buffer.from(key, 'hex'))
  throw new FairleadError(
    'InvalidParams',
    `${path}: expected keys of 64 hex digits, one a line; put back the file that belongs to the store`,
    { field: 'key file' },
  )
}
