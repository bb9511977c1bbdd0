import { existsSync } from 'node:fs'
import { FairleadError } from '@fairlead/core'
import { durationText, type FixedClock, fixClock } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { refusePostgres } from '../storage/store-address.ts'
import { checkClock } from './check-host.ts'

/** Moves a store back that is ahead of the clock (CLOCK-1); null where it is not. One that a server has open is refused. */
export async function fixStoreClock(path: string, nowMs = Date.now()): Promise<FixedClock | null> {
  const { status, text, advice } = checkClock(nowMs, null)
  if (status === 'fail') throw new FairleadError('InvalidState', `${text} ${advice}`)
  refusePostgres(
    path,
    'its times are not moved; wait until the clock has come so far, or restore a backup',
  )
  if (!existsSync(path)) {
    throw new FairleadError('NotFound', `there is no store ${path}; name it with --set store.path`)
  }
  const store = await openSqliteStore(path)
  try {
    return await fixClock(store, nowMs)
  } finally {
    await store.close()
  }
}

/** What was done, in a sentence. */
export function fixedText(fixed: FixedClock | null): string {
  if (fixed === null) return 'The store is not ahead of the clock: nothing was changed.'
  const { before, after } = fixed
  const [from, to] = [before, after].map((at) => new Date(at).toISOString())
  return `The store was ${durationText(before - after)} ahead: it was moved from ${from} to ${to}.`
}
