import type { AuditEntry } from '@fairlead/core'
import { jsonOf } from '@fairlead/core/internal'
import type { AuditEntryRecord } from '@fairlead/protocol'

export function auditRecord(entry: AuditEntry): AuditEntryRecord {
  const { seq, at, actor, action, subject, details, prevHash, hash } = entry
  const shown = jsonOf(details) as Record<string, unknown>
  return { seq, at, actor, action, subject, details: shown, prev_hash: prevHash, hash }
}
