import { readFileSync } from 'node:fs'
import { FairleadError } from '@fairlead/core/errors'

/** Has the line of a key file. A file that is named goes before it. */
export const KEY_VARIABLE = 'FAIRLEAD_PROVIDER_KEY'

/**
 * The line of a key file: the name of the algorithm and the secret seed as hex (FILES-5). The name keeps the key file of
 * a store, which is bare hex, from being taken for the key of a provider.
 */
const LINE = /^ed25519 ([0-9a-f]{64})$/

/** The secret seed of a provider from its key file. An error never repeats any of the file. */
export function readProviderKey(path: string): Uint8Array {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw wrong(`cannot read ${path}: ${(error as Error).message}`)
  }
  return seedIn(text, path)
}

/** The same from a file, or from the environment if no file is named. */
export function proverKey(
  keyFile: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): Uint8Array {
  if (keyFile !== undefined) return readProviderKey(keyFile)
  const line = env[KEY_VARIABLE]
  if (line !== undefined && line !== '') return seedIn(line, KEY_VARIABLE)
  throw wrong(
    `expected the key of the provider: name its file (keyFile, --prover-key), or put its line into ${KEY_VARIABLE}`,
  )
}

function seedIn(text: string, from: string): Uint8Array {
  const [, digits] = LINE.exec(text.trim()) ?? []
  if (digits !== undefined) return Buffer.from(digits, 'hex')
  throw wrong(
    `${from}: expected the line of a provider's key, ed25519 and 64 hex digits; fairlead keys new makes one`,
  )
}

function wrong(message: string): FairleadError {
  return new FairleadError('InvalidParams', message)
}
