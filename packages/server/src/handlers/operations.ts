import { type AuditHead, brokenSeq, showPolicy } from '@fairlead/core'
import { refusePruned } from '@fairlead/engine'
import { VERIFY_MAX } from '@fairlead/protocol'
import { brokenBatchIn } from '../audit/broken-batch.ts'
import { auditRecord } from '../records/audit-record.ts'
import { actingAs, type Handlers } from '../rpc/call.ts'

export const policyGet: Handlers['policy.get'] = (_, __, { engine }) => ({
  policy: showPolicy(engine.view.policy),
})

export const policySet: Handlers['policy.set'] = async ({ policy, preset }, call, { engine }) => ({
  policy: showPolicy(await engine.setPolicy(policy, preset, actingAs(call))),
})

export const auditList: Handlers['audit.list'] = async (params, _, { engine }) => {
  const { after_seq = 0, cursor, limit = 100 } = params
  const after = Math.max(after_seq, cursor === undefined ? 0 : Number(cursor))
  const entries = await engine.view.read.journal(after, limit)
  const last = entries.length < limit ? undefined : entries.at(-1)
  return { entries: entries.map(auditRecord), cursor: last === undefined ? null : String(last.seq) }
}

/** Entries that are read at once, so that others get their turn. */
const VERIFY_PAGE = 1_000

export const auditVerify: Handlers['audit.verify'] = async (params, _, { engine }) => {
  const limit = params.limit ?? VERIFY_MAX
  const cut = engine.view.journalCut
  let head: AuditHead = params.head ?? cut
  refusePruned(head.seq, cut)
  let checked = 0
  while (checked < limit) {
    const size = Math.min(VERIFY_PAGE, limit - checked)
    const entries = await engine.view.read.journal(head.seq, size)
    const broken = brokenSeq(entries, head)
    const holding = broken === null ? entries : entries.slice(0, broken - head.seq - 1)
    const last = holding.at(-1)
    checked += holding.length
    if (last !== undefined) head = { seq: last.seq, hash: last.hash }
    const found = { checked, broken_seq: broken, head }
    if (broken !== null) return { ...found, broken_batch: null, is_complete: true }
    if (entries.length < size) {
      return { ...found, broken_batch: await brokenBatchIn(engine), is_complete: true }
    }
  }
  return { checked, broken_seq: null, broken_batch: null, head, is_complete: false }
}

export const auditPrune: Handlers['audit.prune'] = async ({ before }, call, { engine }) => {
  const { deleted, cut } = await engine.pruneAudit(before, actingAs(call))
  return { deleted, head: cut }
}

export const statsGet: Handlers['stats.get'] = async (_, __, { stats, storage }) => ({
  ...stats.take(),
  storage: await storage.figures(),
})

export const storageBackup: Handlers['storage.backup'] = async ({ path }, call, { storage }) => {
  const { keyFile, ...made } = await storage.backup(path, actingAs(call))
  return { ...made, key_file: keyFile }
}

export const discover: Handlers['rpc.discover'] = (_, __, { openRpc }) => openRpc()
