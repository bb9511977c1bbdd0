import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { METHODS, type MethodName } from '@fairlead/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  ATLAS,
  ATTESTATION_HASH,
  answerTo,
  blockOf,
  completed,
  FUND,
  nextSettled,
  proofOf,
  REGISTRATION,
} from './fund-rig.ts'
import { AI, type FormName, type Person, Rig, TASK } from './rig.ts'

let rigs: Readonly<Record<FormName, Rig>>
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-forms-'))
  // Only a store in a file can be backed up.
  rigs = { json: await Rig.open({ isOnFile: true }), cbor: await Rig.open({ isOnFile: true }) }
})
afterAll(async () => {
  await Promise.all(Object.values(rigs).map((rig) => rig.close()))
  rmSync(folder, { recursive: true })
})

/** One person after the other makes every call that HTTP can, all of them good. */
async function story(form: FormName): Promise<Map<MethodName, unknown[]>> {
  const rig = rigs[form]
  const answers = new Map<MethodName, unknown[]>()
  const call = async <Answer>(as: Person, method: MethodName, params: object = {}) => {
    const answer: unknown = await rig.call(as, method, params as never, form)
    answers.set(method, [...(answers.get(method) ?? []), answer])
    return answer as Answer
  }
  const atlas = { provider_id: 'provider:atlas' }
  const worker = { worker_id: 'w-1' }
  const leased = async (request: object): Promise<{ task_id: string; lease_id: string }> => {
    const { task_id } = await call<{ task_id: string }>('alice', 'aicf.enqueue', request)
    const poll = {
      ...atlas,
      ...worker,
      slots: 1,
      kinds: ['ai', 'task'],
      models: ['*'],
      wait_ms: 10_000,
    }
    type Polled = { readonly leases: readonly { readonly lease_id: string }[] }
    const { leases } = await call<Polled>('atlas', 'aicf.pollLeases', poll)
    return { task_id, lease_id: leases[0]?.lease_id as string }
  }

  await call('atlas', 'aicf.registerProvider', { ...atlas, kinds: ['ai', 'task'], models: ['*'] })
  await call('atlas', 'aicf.updateProvider', { ...atlas, region: 'eu' })
  await call('atlas', 'aicf.heartbeat', atlas)
  await call('operator', 'aicf.stake', { ...atlas, amount_u64: 7 })
  const first = await leased(AI)
  const held = { lease_id: first.lease_id, ...worker }
  await call('atlas', 'aicf.ackLease', held)
  await call('atlas', 'aicf.renewLease', held)
  await call('alice', 'aicf.explainJob', { task_id: first.task_id })
  await call('atlas', 'aicf.completeLease', { ...held, output: '0x0102', meta: { pages: 3 } })
  await call('alice', 'aicf.getJob', { task_id: first.task_id })
  await call('alice', 'aicf.getResult', { task_id: first.task_id })
  await call('alice', 'aicf.getTimeline', { task_id: first.task_id })
  for (const [method, more] of [
    ['aicf.reportProgress', { percent: 40, log: ['a line'] }],
    ['aicf.releaseLease', {}],
    ['aicf.failLease', { code: 'oops', permanent: true }],
    // The last: whoever declines gets no job like it for a while.
    ['aicf.declineLease', {}],
  ] as const) {
    const { task_id, lease_id } = await leased(TASK)
    await call('atlas', method, { lease_id, ...worker, ...more })
    if (method !== 'aicf.failLease') await call('alice', 'aicf.cancelJob', { task_id })
  }
  await call('alice', 'aicf.listJobs', { limit: 10 })
  await call('operator', 'aicf.listProviders')
  await call('operator', 'aicf.getProvider', atlas)
  await call('operator', 'aicf.setProviderStatus', { ...atlas, status: 'SUSPENDED' })

  const limit = { key: 'llm:rpm', kind: 'rolling', capacity: 100, window_seconds: 60 }
  const reserve = (lease_id: string) => ({
    lease_id,
    requirements: [{ key: limit.key, amount: 2 }],
  })
  await call('operator', 'limits.define', { limit })
  await call('alice', 'limits.reserve', reserve('a'))
  await call('alice', 'limits.reserveMany', { requests: [reserve('b'), reserve('c')] })
  await call('alice', 'limits.complete', { lease_id: 'a' })
  await call('alice', 'limits.completeMany', { requests: [{ lease_id: 'b' }, { lease_id: 'c' }] })
  await call('operator', 'limits.list')
  await call('operator', 'limits.get', { key: limit.key })
  await call('operator', 'limits.reset', { key: limit.key })
  await call('operator', 'limits.delete', { key: limit.key })

  const work = { kind: 'task', payload: { name: 'resize', args: { n: 1.5 } } }
  const nightly = { id: 'nightly', cron: '0 2 * * *', request: work }
  await call('alice', 'schedules.put', nightly)
  await call('alice', 'schedules.get', { id: 'nightly' })
  await call('operator', 'schedules.list')
  await call('alice', 'schedules.trigger', { id: 'nightly' })
  await call('alice', 'schedules.delete', { id: 'nightly' })
  await call('alice', 'aicf.cancelJobs', { filter: { kind: 'quantum' }, dry_run: true })
  await call('alice', 'aicf.retryJobs', { filter: { kind: 'quantum' }, operation_id: 'op' })
  await call('alice', 'aicf.getLogs', { task_id: (await leased(TASK)).task_id })
  const paused = { kind: 'task', name: 'resize' }
  await call('operator', 'queues.pause', paused)
  await call('operator', 'queues.list')
  await call('operator', 'queues.resume', paused)

  const session = { provider: 'bookeo', org_ref: 'north', event_id: 'swim' }
  const opens_at = Date.now() + 3_600_000
  await call('operator', 'signup.setOpening', { ...session, opens_at })
  const asked = { ...session, user_id: 'kim', opens_at, args: { child: 'Lee' } }
  const { reference } = await call<{ reference: string }>('alice', 'signup.schedule', asked)
  await call('alice', 'signup.list')
  await call('operator', 'signup.listSessions')
  await call('operator', 'signup.getSession', session)
  await call('alice', 'signup.audit', { id: reference })
  await call('alice', 'signup.cancel', { id: reference })

  const { policy } = await call<{ policy: object }>('operator', 'policy.get')
  await call('operator', 'policy.set', { policy })
  await call('auditor', 'audit.list', { limit: 5 })
  await call('auditor', 'audit.verify')
  await call('admin', 'audit.prune', { before: 1_713_200_123_000 })
  await call('operator', 'policy.describe')
  await call('operator', 'auth.whoami')
  for (const method of Object.keys(METHODS) as MethodName[]) {
    if (method.startsWith('stats.')) await call('operator', method)
  }
  await call('admin', 'storage.backup', { path: join(folder, `${form}.db`) })
  await call('alice', 'rpc.discover')
  return answers
}

/** The same for a fund: proofs without a chain, and a block of one. */
async function fundStory(form: FormName): Promise<Map<MethodName, unknown>> {
  const answers = new Map<MethodName, unknown>()
  const rig = await Rig.open({ policy: FUND })
  const chained = await Rig.open({ policy: { ...FUND, chain: { source: 'blocks' } } })
  const call = async <Answer>(as: Person, method: MethodName, params: object, to = rig) => {
    const answer: unknown = await to.call(as, method, params as never, form)
    answers.set(method, answer)
    return answer as Answer
  }
  const atlas = { provider_id: ATLAS }
  await rig.call('atlas', 'aicf.registerProvider', REGISTRATION)
  await rig.call('operator', 'aicf.stake', { ...atlas, amount_u64: 500 })
  const { challenge } = await call<{ challenge: string }>('atlas', 'aicf.getChallenge', atlas)
  await call('atlas', 'aicf.attest', answerTo(challenge))
  await call('atlas', 'aicf.unstake', { ...atlas, amount_u64: 200 })
  const settled = nextSettled(rig)
  const named = { attestation: ATTESTATION_HASH }
  const envelope = proofOf(await completed(rig), named)
  await call('atlas', 'aicf.submitProof', { envelope })
  const epoch_id = await settled
  await call('auditor', 'aicf.listSettlements', {})
  await call('auditor', 'aicf.getSettlement', { epoch_id })
  await call('atlas', 'aicf.claimPayout', { ...atlas, epoch_id })
  await call('operator', 'aicf.closeEpoch', { epoch_id })
  await call('operator', 'aicf.recordPayout', { account: ATLAS, amount: 5, reference: 'r' })
  await call('atlas', 'aicf.getBalance', {})
  await chained.call('atlas', 'aicf.registerProvider', REGISTRATION)
  const other = proofOf(await completed(chained))
  await call('operator', 'chain.block', blockOf(7, other), chained)
  await Promise.all([rig.close(), chained.close()])
  return answers
}

/** Their answers have lengths of time and of files. */
const MEASURED: ReadonlySet<string> = new Set(['aicf.getTimeline', 'queues.list', 'storage.backup'])

/** Without what differs between two servers: ids, times and what is measured. */
function masked(value: unknown, isMeasured = false): unknown {
  if (typeof value === 'string') {
    return value
      .replace(/0x[0-9a-f]{40,}/g, 'ID')
      .replace(/SCH-\w{6}/g, 'REFERENCE')
      .replace(/\S+\.db$/, 'PATH')
      .replace(/token:[0-9a-f]+|^[0-9a-f]{12}$/g, 'TOKEN')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/\w+, \d+ \w+ \d{4}, [\d:]+ UTC/g, 'TIME')
      .replace(/\d+(\.\d+)? (ms|s|min|h)\b/g, 'DURATION')
  }
  if (typeof value === 'number') return isMeasured || value > 1e9 ? 'NUMBER' : value
  // A history is as long as the server has run.
  const isSeries = Array.isArray(value) && value.every((one) => typeof one === 'number')
  if (isMeasured && isSeries) return 'NUMBERS'
  if (Array.isArray(value)) return value.map((one) => masked(one, isMeasured))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, one]) => [name, masked(one, isMeasured)])
  return Object.fromEntries(fields)
}

it('RPC-6: every good call has the same answer in JSON and in CBOR', async () => {
  const [json, cbor] = [await story('json'), await story('cbor')]
  const [jsonFund, cborFund] = [await fundStory('json'), await fundStory('cbor')]
  const overHttp = Object.keys(METHODS).filter((method) => !method.startsWith('events.'))
  expect([...json.keys(), ...jsonFund.keys()].toSorted()).toEqual(overHttp.toSorted())
  for (const [method, answers] of json) {
    const isMeasured = method.startsWith('stats.') || MEASURED.has(method)
    expect(masked(cbor.get(method), isMeasured), method).toEqual(masked(answers, isMeasured))
  }
  for (const [method, answer] of jsonFund) {
    expect(masked(cborFund.get(method)), method).toEqual(masked(answer))
  }
})
