import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { publicKeyOf, toHex } from '@fairlead/core'
import { misuse } from '../flags/flags.ts'

const SEED_BYTES = 32

/**
 * Makes the key of a provider in a new file that only its owner may read: one line that `readProviderKey` of the SDK
 * reads (FILES-5). Gives the public key, and nothing else.
 */
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
