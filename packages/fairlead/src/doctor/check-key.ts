import type { FairleadError } from '@fairlead/core'
import { sealKeyId } from '@fairlead/engine'
import type { Sealed } from '@fairlead/store/sqlite'
import { keyPath, readSealKeys, sealedText } from '../serve/seal-key.ts'
import { type Finding, fail, ok, warn } from './check.ts'

/** Is the key there for all that is encrypted? `sealed` is what the store has under each key. */
export function checkKey(storePath: string, sealed: readonly Sealed[]): Finding {
  const path = keyPath(storePath)
  try {
    const keys = readSealKeys(path)
    if (keys === null && sealed.length === 0) {
      return ok('key', `${path} is not there yet; the first start makes it.`)
    }
    const known = new Set(keys?.map(sealKeyId))
    const lost = sealed.filter(({ keyId }) => !known.has(keyId))
    if (lost.length === 0) return ok('key', `${path} opens all that is encrypted.`)
    const text = `Without their key ${sealedText(lost)} cannot be read.`
    const advice = `Put ${path} back from a backup; serve --new-key goes on without it.`
    if (keys === null) return fail('key', text, advice)
    return warn('key', text, `Add the line of the lost key to ${path}, behind the first.`)
  } catch (error) {
    return fail('key', (error as FairleadError).message, `Restore ${path} from a backup.`)
  }
}
