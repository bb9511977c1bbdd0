import { type AuditEntry, brokenSeq, EMPTY_AUDIT } from '@fairlead/core'
import { appendAudit } from '@fairlead/core/internal'
import { type Json, suite } from '../suite.ts'

/** §20: the hash chain of the audit log. */
export const audit = suite(({ kind, entries }) => {
  if (kind === 'verify') return { broken_seq: brokenSeq(entries.map(readEntry)) }
  if (kind !== 'chain') throw new TypeError(`kind: unknown kind ${kind}`)
  let head: typeof EMPTY_AUDIT = EMPTY_AUDIT
  const chain = entries.map((record: Json) => {
    const entry = appendAudit(head, record)
    head = entry
    const { prevHash, ...rest } = entry
    return { ...rest, prev_hash: prevHash }
  })
  return { entries: chain }
})

function readEntry({ prev_hash: prevHash, ...rest }: Json): AuditEntry {
  return { ...rest, prevHash }
}
