import { FairleadError } from '@fairlead/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { AI, Rig, TASK } from './rig.ts'

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

const FORMS = ['json', 'cbor'] as const

it.each(FORMS)('WIRE-7: the policy is shown as a whole and set as a whole (%s)', async (form) => {
  const { policy } = await rig.call('auditor', 'policy.get', {}, form)
  expect(policy).toMatchObject({ queue: { batch_size: 256 }, match: { fairness: 'tenant' } })
  const wanted = { ...policy, queue: { ...(policy['queue'] as object), batch_size: 17 } }
  const set = await rig.call('operator', 'policy.set', { policy: wanted }, form)
  expect(set.policy).toEqual(wanted)
  expect(await rig.call('operator', 'policy.get', {}, form)).toEqual({ policy: wanted })
  const preset = await rig.call('operator', 'policy.set', { policy: {}, preset: 'fund' }, form)
  expect(preset.policy).toMatchObject({ match: { fairness: 'score' } })
})

it('WIRE-7: a wrong policy is refused with all its problems', async () => {
  const wrong = { queue: { batch_size: 0, odd: 1 }, match: { order: 'random' } }
  const error: unknown = await rig.call('operator', 'policy.set', { policy: wrong }).catch((e) => e)
  expect(error).toBeInstanceOf(FairleadError)
  expect((error as FairleadError).details['problems']).toHaveLength(3)
})

it.each(FORMS)('WIRE-8: the audit log is listed and holds (%s)', async (form) => {
  for (let i = 0; i < 5; i++) await rig.call('alice', 'aicf.enqueue', TASK)
  const first = await rig.call('auditor', 'audit.list', { limit: 3 }, form)
  expect(first.entries.map(({ seq }) => seq)).toEqual([1, 2, 3])
  const rest = await rig.call('auditor', 'audit.list', { cursor: first.cursor as string }, form)
  expect(rest.entries.map(({ seq }) => seq)).toEqual([4, 5])
  expect(rest.cursor).toBe(null)
  const part = await rig.call('auditor', 'audit.verify', { limit: 2 }, form)
  expect(part).toMatchObject({ checked: 2, broken_seq: null, is_complete: false, head: { seq: 2 } })
  const whole = await rig.call('auditor', 'audit.verify', { head: part.head }, form)
  expect(whole).toMatchObject({ checked: 3, broken_seq: null, is_complete: true, head: { seq: 5 } })
  const forged = { ...part.head, hash: `0x${'11'.repeat(32)}` }
  const broken = await rig.call('auditor', 'audit.verify', { head: forged }, form)
  expect(broken).toMatchObject({ checked: 0, broken_seq: 3, is_complete: true })
})

it.each(FORMS)('WIRE-9: stats count what waits, works and was done (%s)', async (form) => {
  await rig.call('alice', 'aicf.enqueue', AI)
  await rig.call('alice', 'aicf.enqueue', TASK)
  await rig.call('operator', 'aicf.registerProvider', {
    provider_id: 'provider:x',
    kinds: ['task'],
    models: ['*'],
  })
  const stats = await rig.call('operator', 'stats.get', {}, form)
  expect(stats).toMatchObject({
    queues: [
      { kind: 'ai', ready: 0, backoff: 0, no_provider: 1 },
      { kind: 'quantum', ready: 0, oldest_wait_ms: null },
      { kind: 'task', ready: 0, no_provider: 1 },
      { kind: 'registration', ready: 0, not_open: 0, oldest_wait_ms: null },
    ],
    providers: { ACTIVE: 1 },
    totals: { enqueued: 2, assigned: 0 },
    connections: { websocket: 0 },
  })
})

it.each(FORMS)('AUDIT-8: old entries go, and what is left is verified (%s)', async (form) => {
  const keep = { journal: { keep_secs: 0, keep_entries: 2 } }
  await rig.call('admin', 'policy.set', { policy: keep }, form)
  for (let i = 0; i < 5; i++) await rig.call('alice', 'aicf.enqueue', TASK)
  const all = await rig.call('auditor', 'audit.list', {}, form)
  const before = (all.entries.at(-1)?.at ?? 0) + 1
  const socket = await rig.socket('operator')
  const { head } = await rig.call('auditor', 'audit.verify', { limit: 1 }, form)
  expect(await rig.outcome('operator', 'audit.prune', { before }, form)).toBe('Forbidden')
  // Entries are old as soon as the clock shows another millisecond.
  let pruned = await rig.call('admin', 'audit.prune', { before }, form)
  while (pruned.deleted === 0) pruned = await rig.call('admin', 'audit.prune', { before }, form)
  const { seq } = pruned.head
  expect(seq).toBeGreaterThan(head.seq)
  const left = await rig.call('auditor', 'audit.list', {}, form)
  expect(left.entries[0]?.seq).toBe(seq + 1)
  const verified = await rig.call('auditor', 'audit.verify', {}, form)
  expect(verified).toMatchObject({ checked: left.entries.length, broken_seq: null })
  expect(await rig.outcome('auditor', 'audit.verify', { head }, form)).toBe('EventsPruned')
  await expect(socket.call('events.subscribe', { after_seq: seq - 1 })).rejects.toMatchObject({
    code: 'EventsPruned',
    details: { oldest_seq: seq + 1 },
  })
  expect(await socket.call('events.subscribe', { after_seq: seq })).toMatchObject({ seq })
})

it('RPC-7: the description is a right OpenRPC document, and the same by both ways', async () => {
  const byCall = await rig.call('alice', 'rpc.discover', {})
  const byPath = (await (await rig.get('/openrpc.json')).json()) as typeof byCall
  expect(byPath).toEqual(byCall)
  expect(await rig.call('alice', 'rpc.discover', {}, 'cbor')).toEqual(byCall)
  const parsed = await parse(byCall)
  expect(parsed.methods.map(({ name }) => name)).toContain('aicf.enqueue')
})

/** By a name that the compiler does not follow: the package has sources in it that our settings refuse. */
async function parse(document: object): Promise<{ methods: { name: string }[] }> {
  const name: string = '@open-rpc/schema-utils-js'
  const { parseOpenRPCDocument } = (await import(name)) as {
    parseOpenRPCDocument(document: object): Promise<{ methods: { name: string }[] }>
  }
  return parseOpenRPCDocument(document)
}
