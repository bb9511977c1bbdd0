import { join } from 'node:path'
import { type CborMap, type CborValue, decodeCbor, encodeCbor } from '@fairlead/core'
import {
  EVENTS,
  METHODS,
  type MethodName,
  NOTIFICATIONS,
  openRpcDocument,
} from '@fairlead/protocol'
import { Cddl } from '@fairlead/testkit/cddl'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { AI, inCbor, NO_ID, Rig, TASK } from './rig.ts'

const cddl = new Cddl(join(import.meta.dirname, '..', '..', 'protocol', 'schemas'))

let rig: Rig
beforeAll(async () => {
  rig = await Rig.open({ tokens: false })
})
afterAll(() => rig.close())

/** What is sent and what comes back, as it is on the wire. */
async function exchange(method: MethodName, params: object): Promise<CborMap> {
  const sent = inCbor({ jsonrpc: '2.0', id: 1, method, params })
  expect(cddl.problem('rpc-request', sent)).toBe(null)
  const response = await rig.raw(null, encodeCbor(sent), 'application/cbor')
  const answer = decodeCbor(new Uint8Array(await response.arrayBuffer())) as CborMap
  expect(cddl.problem('result' in answer ? 'rpc-result' : 'rpc-failure', answer)).toBe(null)
  return ('result' in answer ? answer['result'] : answer) as CborMap
}

describe('the CDDL files', () => {
  it('RPC-8: have the fields that the definitions have', () => {
    const { components } = openRpcDocument({ version: '0' }) as {
      components: { schemas: Record<string, { properties: object }> }
    }
    const shared = Object.keys(components.schemas).filter((name) => cddl.names.includes(name))
    expect(shared).toEqual(
      expect.arrayContaining([
        'Assignment',
        'Attestation',
        'BatchFile',
        'ClaimLine',
        'JobReceipt',
        'JobRecord',
        'JobSummary',
        'CompleteRecord',
        'DispatchKeyRecord',
        'Lease',
        'Notice',
        'LimitRecord',
        'RegistrationRecord',
        'PayoutLine',
        'PayoutsFile',
        'ProofClaim',
        'ReserveRecord',
        'ResultRecord',
        'SessionEntry',
        'SessionRecord',
      ]),
    )
    for (const name of shared) {
      const fields = Object.keys(components.schemas[name]?.properties ?? {})
      expect(cddl.fieldsOf(name).sort(), name).toEqual(fields.sort())
    }
    const { shape } = METHODS['aicf.enqueue'].params
    expect(cddl.fieldsOf('JobRequest').sort()).toEqual(Object.keys(shape).sort())
    for (const [name, shape] of Object.entries({
      ScheduleRequest: METHODS['signup.schedule'].params.shape,
      ScheduleReceipt: METHODS['signup.schedule'].result.shape,
      CancelReceipt: METHODS['signup.cancel'].result.shape,
      RegistrationAudit: METHODS['signup.audit'].result.shape,
      SessionLook: METHODS['signup.getSession'].result.shape,
      Opening: METHODS['signup.setOpening'].result.shape,
    })) {
      expect(cddl.fieldsOf(name).sort(), name).toEqual(Object.keys(shape).sort())
    }
    for (const [name, { schema }] of Object.entries(EVENTS)) {
      expect(cddl.fieldsOf(name).sort(), name).toEqual(Object.keys(schema.shape).sort())
    }
    for (const name of ['leases.offered', 'leases.held', 'leases.lost', 'leases.notice'] as const) {
      const fields = Object.keys(NOTIFICATIONS[name].params.shape)
      expect(cddl.fieldsOf(name.replace('.', '-')).sort()).toEqual(fields.sort())
    }
  })

  it('RPC-8: fit what really goes over the wire', async () => {
    const ws = new WebSocket(`${rig.server.url.replace('http', 'ws')}/ws`)
    const heard: CborMap[] = []
    let wake: () => void = () => {}
    ws.on('message', (data) => {
      heard.push(decodeCbor(data as Buffer) as CborMap)
      wake()
    })
    await new Promise((resolve) => ws.once('open', resolve))
    const send = (method: string, params: object) =>
      ws.send(encodeCbor(inCbor({ jsonrpc: '2.0', id: 1, method, params })))
    const find = async (fits: (message: CborMap) => boolean): Promise<CborMap> => {
      for (;;) {
        const found = heard.find(fits)
        if (found !== undefined) return found
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
    const worker = { provider_id: 'provider:atlas', worker_id: 'w' }
    send('events.subscribe', { after_seq: 0 })
    send('aicf.pollLeases', { ...worker, slots: 5, kinds: ['ai', 'task', 'quantum'], push: true })

    const quantum = { kind: 'quantum', payload: { circuit: '0x0102', shots: 10 } } as const
    const jobs = [
      { ...AI, max_fee_u64: '18446744073709551615', idempotency_key: 'k', regions: null },
      {
        ...TASK,
        ttl_abs_secs: 60,
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
      quantum,
    ]
    const offered = (taskId: CborValue) => (message: CborMap) =>
      message['method'] === 'leases.offered' &&
      leasesOf(message).some((lease) => same(lease['task_id'], taskId))
    for (const job of jobs) {
      const asked = inCbor({ method: 'aicf.enqueue', params: job })
      const { params } = decodeCbor(encodeCbor(asked)) as CborMap
      expect(cddl.problem('JobRequest', params as CborValue)).toBe(null)
      const receipt = await exchange('aicf.enqueue', job)
      expect(cddl.problem('JobReceipt', receipt)).toBe(null)
      const message = await find(offered(receipt['task_id'] as CborValue))
      expect(cddl.problem('rpc-notification', message)).toBe(null)
      expect(cddl.problem('leases-offered', message['params'] as CborValue)).toBe(null)
      const lease = leasesOf(message).find((one) =>
        same(one['task_id'], receipt['task_id']),
      ) as CborMap
      const of = {
        ...worker,
        lease_id: `0x${Buffer.from(lease['lease_id'] as Uint8Array).toString('hex')}`,
      }
      await exchange('aicf.ackLease', of)
      const renewed = await exchange('aicf.renewLease', of)
      expect(cddl.problem('Lease', renewed['lease'] as CborValue)).toBe(null)
      await exchange('aicf.completeLease', {
        ...of,
        output: '0x00ff',
        content_type: 'text/plain',
        meta: { a: [1, 0.5, null] },
      })
      const task = { task_id: `0x${Buffer.from(receipt['task_id'] as Uint8Array).toString('hex')}` }
      const read = await exchange('aicf.getJob', task)
      expect(cddl.problem('JobRecord', read['job'] as CborValue)).toBe(null)
      expect(cddl.problem('ResultRecord', read['result'] as CborValue)).toBe(null)
      const { entries } = await exchange('aicf.getTimeline', task)
      for (const entry of entries as CborMap[]) expect(cddl.problem('AuditEntry', entry)).toBe(null)
    }
    const { jobs: listed } = await exchange('aicf.listJobs', {})
    for (const job of listed as CborMap[]) expect(cddl.problem('JobSummary', job)).toBe(null)
    const { provider } = await exchange('aicf.getProvider', { provider_id: 'provider:atlas' })
    expect(cddl.problem('ProviderRecord', provider as CborValue)).toBe(null)
    for (const limit of [
      { key: 'r', kind: 'rolling', capacity: 1, window_seconds: 1, unit: 'tokens' },
      { key: 'c', kind: 'concurrency', capacity: 1, timeout_seconds: 1 },
      { key: 'b', kind: 'bucket', burst: 1, rate: 0.5 },
    ]) {
      const defined = await exchange('limits.define', { limit })
      expect(cddl.problem('LimitRecord', defined['limit'] as CborValue)).toBe(null)
      const lease = { lease_id: limit.key, requirements: [{ key: limit.key, amount: 1 }] }
      expect(cddl.problem('ReserveRecord', await exchange('limits.reserve', lease))).toBe(null)
      const done = await exchange('limits.complete', { lease_id: limit.key })
      expect(cddl.problem('CompleteRecord', done)).toBe(null)
    }
    await exchange('aicf.getJob', { task_id: NO_ID })
    await exchange('aicf.getJob', { task_id: 'wrong' })

    const isLast = (message: CborMap) =>
      eventsOf(message).filter(({ type }) => type === 'jobCompleted').length > 0
    await find(isLast)
    const held = await find(({ method }) => method === 'leases.held')
    expect(cddl.problem('leases-held', held['params'] as CborValue)).toBe(null)
    const events = heard.flatMap(eventsOf)
    expect(events.length).toBeGreaterThan(10)
    for (const event of events) expect(cddl.problem(String(event['type']), event)).toBe(null)
    const provider_id = 'provider:atlas'
    await exchange('aicf.setProviderStatus', { provider_id, status: 'SUSPENDED' })
    const notice = await find(({ method }) => method === 'leases.notice')
    expect(cddl.problem('leases-notice', notice['params'] as CborValue)).toBe(null)
    await exchange('aicf.setProviderStatus', { provider_id, status: 'ACTIVE' })
    ws.terminate()
  })

  it('RPC-8: fit what is said of registrations', async () => {
    const session = { provider: 'bookeo', org_ref: 'org-1', event_id: 'swim' }
    const opens_at = Date.now() - 1_000
    const opening = await exchange('signup.setOpening', { ...session, opens_at })
    expect(cddl.problem('Opening', opening)).toBe(null)
    const worker = { provider_id: 'provider:signup', worker_id: 'w' }
    const offer = { slots: 1, kinds: ['registration'], platforms: ['bookeo'], wait_ms: 5_000 }
    const asked = { ...session, user_id: 'u1', opens_at, args: { child: 'Kim', age: 7.5 } }
    const names = [
      { program_name: 'Swimming', idempotency_key: 'k-1' },
      { user_id: 'u2' },
      { user_id: 'u3' },
    ]
    const ids: string[] = []
    for (const more of names) {
      const params = { ...asked, ...more }
      expect(cddl.problem('ScheduleRequest', inCbor(params))).toBe(null)
      const receipt = await exchange('signup.schedule', params)
      expect(cddl.problem('ScheduleReceipt', receipt)).toBe(null)
      ids.push(receipt['reference'] as string)
    }
    // One fails with a code of its site, one waits for a retry, one is cancelled before its turn.
    const outcomes = [
      { code: 'sold_out', http: 409 },
      { code: 'busy', http: 503 },
    ]
    for (const outcome of outcomes) {
      const { leases } = await exchange('aicf.pollLeases', { ...worker, ...offer })
      const [lease] = leases as CborMap[]
      expect(cddl.problem('Assignment', lease as CborValue)).toBe(null)
      const lease_id = `0x${Buffer.from(lease?.['lease_id'] as Uint8Array).toString('hex')}`
      await exchange('aicf.ackLease', { ...worker, lease_id })
      await exchange('aicf.failLease', { ...worker, lease_id, ...outcome })
    }
    const look = await exchange('signup.getSession', session)
    expect(cddl.problem('SessionLook', look)).toBe(null)
    const canceled = await exchange('signup.cancel', { id: ids[2] })
    expect(cddl.problem('CancelReceipt', canceled)).toBe(null)
    const { registrations } = await exchange('signup.list', {})
    expect((registrations as CborMap[]).map(({ result }) => result)).toEqual([
      ...['failed', 'pending', 'canceled'],
    ])
    for (const one of registrations as CborMap[]) {
      expect(cddl.problem('RegistrationRecord', one)).toBe(null)
    }
    const { sessions } = await exchange('signup.listSessions', {})
    for (const one of sessions as CborMap[]) expect(cddl.problem('SessionRecord', one)).toBe(null)
    for (const id of ids) {
      expect(cddl.problem('RegistrationAudit', await exchange('signup.audit', { id }))).toBe(null)
    }
    const { jobs } = await exchange('aicf.listJobs', { kind: 'registration' })
    for (const job of jobs as CborMap[]) {
      expect(cddl.problem('JobSummary', job)).toBe(null)
      const task_id = `0x${Buffer.from(job['task_id'] as Uint8Array).toString('hex')}`
      const read = await exchange('aicf.getJob', { task_id })
      expect(cddl.problem('JobRecord', read['job'] as CborValue)).toBe(null)
    }
  })

  it('RPC-8: do not fit anything else', () => {
    const receipt = {
      schema_version: 0,
      task_id: new Uint8Array(32),
      enqueue_block: 1,
      caller: new Uint8Array(32),
      kind: 'ai',
      max_fee_u64: 1,
      accepted: true,
    }
    expect(cddl.problem('JobReceipt', receipt)).toBe(null)
    const { caller: _, ...without } = receipt
    for (const wrong of [
      { ...receipt, task_id: new Uint8Array(31) },
      { ...receipt, task_id: NO_ID },
      { ...receipt, kind: 'magic' },
      { ...receipt, max_fee_u64: -1 },
      { ...receipt, accepted: false },
      { ...receipt, odd: 1 },
      without,
      [],
    ]) {
      expect(cddl.problem('JobReceipt', wrong as CborValue)).not.toBe(null)
    }
  })
})

function leasesOf(message: CborMap): CborMap[] {
  return ((message['params'] as CborMap)['leases'] ?? []) as CborMap[]
}

function eventsOf(message: CborMap): CborMap[] {
  if (message['method'] !== 'events.notify') return []
  return (message['params'] as CborMap)['events'] as CborMap[]
}

function same(a: CborValue | undefined, b: CborValue | undefined): boolean {
  return Buffer.compare(a as Uint8Array, b as Uint8Array) === 0
}
