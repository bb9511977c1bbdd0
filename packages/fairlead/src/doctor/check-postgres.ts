import type { FairleadError } from '@fairlead/core'
import type { ServerFacts } from '@fairlead/store/postgres'
import { shownStore } from '../storage/store-address.ts'
import { type Finding, fail, ok, warn } from './check.ts'
import { checkKey } from './check-key.ts'
import type { StoreFindings } from './check-store.ts'

/** Time goes on by the clock of this machine; one that differs by more shows times that nobody understands. */
const SKEW_MAX_MS = 1_000
/** The oldest major version that has all that the store uses. */
const OLDEST_MAJOR = 14

/** Looks at a store in PostgreSQL and at its server (PG-5). It takes no lead, so a server that runs goes on. */
export async function checkPostgres(url: string): Promise<StoreFindings> {
  const unknown = { isHeld: false, beatMs: null, hadTokens: false }
  try {
    const { lookAtPostgresStore } = await import('@fairlead/store/postgres')
    const { server, found, pending } = await lookAtPostgresStore({ url })
    const facts = [
      checkVersion(server),
      checkDurability(server),
      checkStandbys(server),
      checkSkew(server, Date.now()),
    ]
    const shown = shownStore(url)
    if (found === null) {
      const text = `${shown} answers; the first start makes the store in its schema fairlead.`
      return { ...unknown, findings: [ok('store', text), ...facts] }
    }
    const { overview, sealed, leader } = found
    const { liveJobs, meta } = overview
    const beat = meta['beat']
    const since = new Date(leader.beatAt).toISOString()
    return {
      ...unknown,
      findings: [
        ok('store', `${shown} answers; live jobs in it: ${liveJobs}.`),
        pending.length === 0
          ? ok('schema', 'Its schema is that of this Fairlead.')
          : ok('schema', `The next start runs ${pending.join(', ')}.`),
        ok('leader', `Epoch ${leader.epoch} was taken by ${leader.node || 'nobody'} at ${since}.`),
        ...facts,
        checkKey(url, sealed),
      ],
      beatMs: beat === undefined ? null : Number(beat),
      hadTokens: meta['tokens_seen'] !== undefined,
    }
  } catch (error) {
    const { message } = error as FairleadError
    // The defect comes first, and behind it all that is to be done.
    const [what = message, ...advice] = message.split('; ')
    const todo = advice.length === 0 ? message : advice.join('; ')
    return {
      ...unknown,
      findings: [fail('store', `${what}.`, `${todo[0]?.toUpperCase()}${todo.slice(1)}.`)],
    }
  }
}

export function checkVersion({ version, isStandby }: ServerFacts): Finding {
  const text = `PostgreSQL ${version}.`
  if (isStandby) {
    return fail('postgres', `${text} It is a standby.`, 'Give the URL of the primary.')
  }
  if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return ok('postgres', text)
  return fail('postgres', text, `Use PostgreSQL ${OLDEST_MAJOR} or newer.`)
}

/** What the settings of the server allow to be lost of what was answered. */
export function checkDurability(facts: ServerFacts): Finding {
  const { fsync, fullPageWrites, synchronousCommit: commit } = facts
  const settings = `fsync ${fsync ? 'on' : 'off'}, synchronous_commit ${commit}`
  if (!fsync || !fullPageWrites) {
    const text = `${settings}, full_page_writes ${fullPageWrites ? 'on' : 'off'}: a power cut may destroy the whole database.`
    return fail('durability', text, 'Set fsync = on and full_page_writes = on.')
  }
  if (commit === 'off') {
    const text = `${settings}: a crash of the server loses what was answered in the last moment.`
    return warn('durability', text, 'Set synchronous_commit = on, or accept the loss.')
  }
  return ok('durability', `${settings}: what was answered survives a crash and a power cut.`)
}

/** What a failover loses. */
export function checkStandbys(facts: ServerFacts): Finding {
  const { standbys, synchronousStandbys: synchronous, synchronousStandbyNames: names } = facts
  const waits = !['off', 'local'].includes(facts.synchronousCommit)
  if (names !== '' && waits && synchronous > 0) {
    const text = `Synchronous standbys: ${synchronous} of ${standbys}. A failover to one of them loses nothing.`
    return ok('standbys', text)
  }
  if (names !== '' && waits) {
    const text = `synchronous_standby_names is ${names}, and no such standby is connected: no commit is answered.`
    return warn('standbys', text, 'Start the standby, or empty synchronous_standby_names.')
  }
  if (standbys === 0) {
    return ok('standbys', 'There are none: what the disk of the server loses is lost.')
  }
  const text = `Standbys: ${standbys}, none of them synchronous. A failover loses what was answered in the last moment.`
  return warn('standbys', text, 'Set synchronous_standby_names, or accept the loss.')
}

export function checkSkew({ nowMs, askedMs }: ServerFacts, ownMs: number): Finding {
  // The answer was made at some time while it was asked for.
  const skewMs = Math.max(0, Math.abs(ownMs - nowMs) - askedMs)
  const text = `The clock of the server differs by ${Math.round(skewMs)} ms.`
  if (skewMs <= SKEW_MAX_MS) return ok('server clock', text)
  return warn('server clock', text, 'Set both clocks by NTP.')
}
