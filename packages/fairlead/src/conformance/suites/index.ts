import type { Suite } from '../suite.ts'
import { audit } from './audit.ts'
import { backoff } from './backoff.ts'
import { cbor } from './cbor.ts'
import { fair } from './fair.ts'
import { proof } from './fund/proof.ts'
import { settlement } from './fund/settlement.ts'
import { sla } from './fund/sla.ts'
import { hashes } from './hashes.ts'
import { jobBackoff } from './job-backoff.ts'
import { lease } from './lease.ts'
import { limits, limitsOnRedis } from './limits.ts'
import { match } from './match.ts'
import { priority } from './priority.ts'
import { sessionDispatch } from './session-dispatch.ts'
import { sessionOrder } from './session-order.ts'
import { shuffle } from './shuffle.ts'
import { slots } from './slots.ts'
import { taskId } from './task-id.ts'

/** The suites that the product knows, by the name in a vector file. */
const SUITES: ReadonlyMap<string, Suite> = new Map([
  ['cbor', cbor],
  ['task-id', taskId],
  ['hashes', hashes],
  ['shuffle', shuffle],
  ['priority', priority],
  ['match', match],
  ['fair', fair],
  ['backoff', backoff],
  ['job-backoff', jobBackoff],
  ['lease', lease],
  ['session-order', sessionOrder],
  ['session-dispatch', sessionDispatch],
  ['slots', slots],
  ['limits', limits],
  ['audit', audit],
  ['proof', proof],
  ['settlement', settlement],
  ['sla', sla],
])

/** With the address of a Redis, those that can run on one do so. */
export function suitesOn(redisUrl: string | null): ReadonlyMap<string, Suite> {
  return redisUrl === null ? SUITES : new Map([...SUITES, ['limits', limitsOnRedis(redisUrl)]])
}
