import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { publicKeyOf, toHex } from '@fairlead/core'
import { misuse } from '../flags/flags.ts'

const SEED_BYTES = 32

/**
 * One line: the name of the algorithm and the secret seed as hex (FILES-5). The name keeps the key file of a store, which
 * is bare hex, from being taken for the key of a provider.
 */
const LINE = /^ed25519 ([0-9a-f]{64})$/

/** Makes the key of a provider in a new file that only its owner may read. Gives the public key, and nothing else. */
export function makeProviderKey(path: string): string {
  const seed = randomBytes(SEED_BYTES)
  try {
    writeFileSync(path, `ed25519 ${seed.toString('hex')}\n`, {
      flag: 'wx',
      mode: 0o600,
      flush: true,
    })
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      throw misuse(`${path} is there already, and a key is never overwritten; name another --out`)
    }
    // A full disk leaves a part of the line, which is no key.
    if (syscall !== 'open') rmSync(path, { force: true })
    throw misuse(`cannot write ${path}: ${message}`)
  }
  return toHex(publicKeyOf(seed))
}

/** The secret seed in a key file. An error never repeats any of the file. */
export function readProviderKey(path: string): Uint8Array {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw misuse(`cannot read ${path}: ${(error as Error).message}`)
  }
  const [, digits] = LINE.exec(text.trim()) ?? []
  if (digits !== undefined) return Buffer.from(digits, 'hex')
  throw misuse(
    `${path}: expected the line of a provider's key, ed25519 and 64 hex digits; fairlead keys new makes one`,
  )
}
