import { existsSync } from 'node:fs'
import type { FairleadError } from '@fairlead/core'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { type Finding, fail, ok } from './check.ts'
import { checkKey } from './check-key.ts'

export interface StoreFindings {
  readonly findings: readonly Finding[]
  /** Whether another process has it open: a server, most likely. */
  readonly isHeld: boolean
  /** The last time that it has seen, in ms; null where that is not known. */
  readonly beatMs: number | null
  /** Whether a server on it ever saw a token. */
  readonly hadTokens: boolean
}

/** Opens the store as a server would, looks at what is in it, and closes it. */
export async function checkStore(path: string): Promise<StoreFindings> {
  if (!existsSync(path)) {
    const text = `${path} is not there yet; the first start makes it.`
    return { findings: [ok('store', text)], isHeld: false, beatMs: null, hadTokens: false }
  }
  try {
    const store = await openSqliteStore(path)
    try {
      const { liveJobs, meta } = await store.overview()
      const key = checkKey(path, await store.sealed())
      const beat = meta['beat']
      return {
        findings: [
          ok('store', `${path} opens; live jobs in it: ${liveJobs}.`),
          ok('schema', 'Its schema is that of this Fairlead.'),
          key,
        ],
        isHeld: false,
        beatMs: beat === undefined ? null : Number(beat),
        hadTokens: meta['tokens_seen'] !== undefined,
      }
    } finally {
      await store.close()
    }
  } catch (error) {
    return refused(error as FairleadError)
  }
}

/** The store says itself what to do; which of the two checks it fails is in its reason. */
function refused({ message, details }: FairleadError): StoreFindings {
  const reason = details?.['reason']
  if (reason === 'held') {
    const text = 'Another process has it open; if that is your server, all is well.'
    return { findings: [ok('store', text)], isHeld: true, beatMs: null, hadTokens: false }
  }
  const name = reason === 'newer_schema' || reason === 'not_a_store' ? 'schema' : 'store'
  const [what = message, advice = message] = message.split('; ')
  return {
    findings: [fail(name, `${what}.`, `${advice[0]?.toUpperCase()}${advice.slice(1)}.`)],
    isHeld: false,
    beatMs: null,
    hadTokens: false,
  }
}
