import { existsSync } from 'node:fs'
import type { FairleadError } from '@fairlead/core'
import { openSqliteStore, SCHEMA_VERSION } from '@fairlead/store/sqlite'
import { olderSchema, storeFiles } from '../storage/store-files.ts'
import { type Finding, fail, ok } from './check.ts'
import { checkKey } from './check-key.ts'
import { checkFiles, checkReplay } from './check-storage.ts'

export interface StoreFindings {
  readonly findings: readonly Finding[]
  /** Whether another process has it open: a server, most likely. */
  readonly isHeld: boolean
  /** The last time that it has seen, in ms; null where that is not known. */
  readonly beatMs: number | null
  /** Whether a server on it ever saw a token. */
  readonly hadTokens: boolean
}

const NOTHING_KNOWN = { isHeld: false, beatMs: null, hadTokens: false }

/** Opens the store as a server would, looks at what is in it, and closes it. */
export async function checkStore(path: string): Promise<StoreFindings> {
  const files = storeFiles(path)
  // Tables that are gone while their log is there are no new store.
  if (!existsSync(path) && files.logFiles.length === 0) {
    const text = `${path} is not there yet; the first start makes it.`
    return { ...NOTHING_KNOWN, findings: [ok('store', text)] }
  }
  const older = olderSchema(path)
  if (older !== null) {
    const text = `It is version ${older}, of an earlier Fairlead. The next start copies it into new files, and keeps it as ${path}.before-${SCHEMA_VERSION}.`
    return { ...NOTHING_KNOWN, findings: [ok('schema', text), checkFiles(path, files)] }
  }
  try {
    const store = await openSqliteStore(path)
    try {
      const { liveJobs, meta } = await store.overview()
      const key = checkKey(path, await store.sealed())
      const values = checkValues(await store.problems())
      const beat = meta['beat']
      return {
        findings: [
          ok('store', `${path} opens; live jobs in it: ${liveJobs}.`),
          ok('schema', 'Its schema is that of this Fairlead.'),
          values,
          checkFiles(path, files),
          checkReplay(store.report),
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
    const found = refused(error as FairleadError)
    const isThere = existsSync(path)
    return isThere ? { ...found, findings: [...found.findings, checkFiles(path, files)] } : found
  }
}

/** Every value is read, as `fairlead log verify` does. */
function checkValues(problems: readonly string[]): Finding {
  const [first] = problems
  if (first === undefined) return ok('values', 'Every value in the tables fits its checksum.')
  const advice =
    'If somebody changed it by hand, bring back the old value; otherwise keep a copy of the file and go back to the last backup.'
  return fail('values', `The tables are damaged: ${first}.`, advice)
}

/** The store says itself what to do; the check that it fails is in its reason. */
function refused({ message, details }: FairleadError): StoreFindings {
  const reason = details?.['reason']
  if (reason === 'held') {
    const text = 'Another process has it open; if that is your server, all is well.'
    return { ...NOTHING_KNOWN, findings: [ok('store', text)], isHeld: true }
  }
  const isOfSchema = ['newer_schema', 'older_schema', 'newer_format', 'not_a_store']
  const name = isOfSchema.includes(String(reason)) ? 'schema' : 'store'
  // The defect comes first, and behind it all that is to be done.
  const [what = message, ...advice] = message.split('; ')
  const todo = advice.length === 0 ? message : advice.join('; ')
  const finding = fail(name, `${what}.`, `${todo[0]?.toUpperCase()}${todo.slice(1)}.`)
  return { ...NOTHING_KNOWN, findings: [finding] }
}
