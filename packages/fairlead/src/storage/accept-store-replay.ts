import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { FairleadError } from '@fairlead/core'
import { type AcceptedReplay, acceptReplay } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { refusePostgres } from './store-address.ts'

const INCARNATION_BYTES = 32

/** Takes the decisions of this version for what the tables of a store lack (REPLAY-2). One that a server has open is refused. */
export async function acceptStoreReplay(path: string, isTrial: boolean): Promise<AcceptedReplay> {
  refusePostgres(path, 'start the version that wrote it once, and stop it in order')
  if (!existsSync(path)) {
    throw new FairleadError('NotFound', `there is no store ${path}; name it with --store`)
  }
  const store = await openSqliteStore(path)
  try {
    const incarnation = randomBytes(INCARNATION_BYTES)
    return await acceptReplay(store, { nowMs: Date.now(), incarnation, isTrial })
  } finally {
    await store.close()
  }
}
