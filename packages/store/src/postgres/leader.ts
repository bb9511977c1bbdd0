import type { FairleadError } from '@fairlead/core'
import type { Client } from 'pg'
import { unavailable } from '../unavailable.ts'
import type { Address } from './address.ts'
import { run } from './connection.ts'

/** The node that may append to the log and write the tables (LEADER-1). */
export interface Leader {
  readonly epoch: number
  readonly node: string
  /** Its last sign of life, by the clock of the server. */
  readonly beatAt: number
}

export async function findLeader(client: Client): Promise<Leader> {
  const [row] = (await run(client, 'find-leader')).rows as [[number, string, number]]
  const [epoch, node, beatAt] = row
  return { epoch, node, beatAt }
}

/** Takes the next epoch. Appends and writes of the last leader that are under way end before, and later ones are refused. */
export async function takeEpoch(client: Client, node: string): Promise<number> {
  await client.query('BEGIN')
  // An append takes no lock on the row of the leader, so it is waited for here: who leads reads a log that has ended.
  await client.query('LOCK TABLE log IN SHARE ROW EXCLUSIVE MODE')
  const [row] = (await run(client, 'take-epoch', { node })).rows as [[number]]
  await client.query('COMMIT')
  return row[0]
}

/** This process led until another one took the next epoch. */
export function notLeader({ shown }: Address, { epoch, node, beatAt }: Leader): FairleadError {
  const since = new Date(beatAt).toISOString()
  return unavailable(
    shown,
    'not_leader',
    `another node leads since ${since} (${node}); calls belong there, so stop this process or start it again`,
    { details: { node, epoch, since: beatAt } },
  )
}
