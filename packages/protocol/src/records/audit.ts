import { z } from 'zod'
import { bytes32, count, jsonObject, timeMs } from '../wire/leaves.ts'

/** One entry of the hash-chained log, which is also a line of a timeline. */
export const auditEntry = z
  .strictObject({
    seq: count,
    at: timeMs,
    actor: z.string(),
    action: z.string(),
    subject: z.string(),
    details: jsonObject,
    prev_hash: bytes32,
    hash: bytes32,
  })
  .meta({ id: 'AuditEntry' })

/** Where a log stands. */
export const auditHead = z.strictObject({ seq: count, hash: bytes32 }).meta({ id: 'AuditHead' })

export type AuditEntryRecord = z.output<typeof auditEntry>
