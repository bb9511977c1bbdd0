import { isDeepStrictEqual } from 'node:util'
import {
  type AuditHead,
  brokenSeq,
  type Policy,
  type Preset,
  parsePolicy,
  showPolicy,
} from '@fairlead/core'
import { policySettings } from '@fairlead/core/internal'
import { type Engine, refusePruned } from '@fairlead/engine'
import { type ResultOf, VERIFY_MAX } from '@fairlead/protocol'
import { brokenBatchIn } from '../audit/broken-batch.ts'
import { auditRecord } from '../records/audit-record.ts'
import { actingAs, type Handlers } from '../rpc/call.ts'

export const policyGet: Handlers['policy.get'] = (_, __, { engine }) => ({
  policy: showPolicy(engine.view.policy),
})

export const policySet: Handlers['policy.set'] = async (params, call, { engine }) => {
  const { policy: written, preset, dry_run } = params
  const before = settingsOf(engine.view.policy)
  const policy =
    dry_run === true
      ? engine.checkPolicy(written, preset)
      : await engine.setPolicy(written, preset, actingAs(call))
  return { policy: showPolicy(policy), changes: changesBetween(before, settingsOf(policy)) }
}

export const policyDescribe: Handlers['policy.describe'] = (params, _, { engine }) => {
  const values = settingsOf(engine.view.policy)
  const differences = (preset: Preset) => changesBetween(defaultsOf(preset), values).length
  const closer = differences('queue') <= differences('fund') ? 'queue' : 'fund'
  const { preset = closer } = params
  const defaults = defaultsOf(preset)
  return {
    preset,
    settings: policySettings().map(({ path, field: { expected, purpose } }) => {
      const value = values.get(path) ?? null
      const normal = defaults.get(path) ?? null
      const is_default = isDeepStrictEqual(value, normal)
      return { path, value, default: normal, is_default, expected, purpose }
    }),
  }
}

/** All settings by their path, in written form. */
function settingsOf(policy: Policy): Map<string, unknown> {
  const shown = showPolicy(policy)
  return new Map(policySettings().map(({ path }) => [path, valueAt(shown, path)]))
}

function defaultsOf(preset: Preset): Map<string, unknown> {
  return settingsOf(parsePolicy({}, preset))
}

function valueAt(shown: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = shown
  for (const name of path.split('.')) value = (value as Record<string, unknown>)[name]
  return value
}

function changesBetween(
  from: ReadonlyMap<string, unknown>,
  to: ReadonlyMap<string, unknown>,
): ResultOf<'policy.set'>['changes'] {
  return [...to].flatMap(([path, value]) => {
    const before = from.get(path)
    return isDeepStrictEqual(before, value) ? [] : [{ path, from: before, to: value }]
  })
}

export const auditList: Handlers['audit.list'] = async (params, _, { engine }) => {
  const { after_seq = 0, cursor, limit = 100, order = 'oldest' } = params
  if (order === 'newest') return newestEntries(engine, after_seq, cursor, limit)
  const after = Math.max(after_seq, cursor === undefined ? 0 : Number(cursor))
  const entries = await engine.view.read.journal(after, limit)
  const last = entries.length < limit ? undefined : entries.at(-1)
  return { entries: entries.map(auditRecord), cursor: last === undefined ? null : String(last.seq) }
}

/** Numbers follow one another without a gap, so a page is known by where it ends. */
async function newestEntries(
  engine: Engine,
  afterSeq: number,
  cursor: string | undefined,
  limit: number,
): Promise<ResultOf<'audit.list'>> {
  const last = cursor === undefined ? engine.lastEventSeq : Number(cursor) - 1
  const first = Math.max(afterSeq, engine.view.journalCut.seq, last - limit)
  const entries = last > first ? await engine.view.read.journal(first, last - first) : []
  const oldest = entries[0]?.seq ?? 0
  const isEnd = oldest <= Math.max(afterSeq, engine.view.journalCut.seq) + 1
  return {
    entries: entries.map(auditRecord).reverse(),
    cursor: isEnd ? null : String(oldest),
  }
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

export const storageBackup: Handlers['storage.backup'] = async ({ path }, call, { storage }) => {
  const { keyFile, ...made } = await storage.backup(path, actingAs(call))
  return { ...made, key_file: keyFile }
}

export const discover: Handlers['rpc.discover'] = (_, __, { openRpc }) => openRpc()
