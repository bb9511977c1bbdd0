import { callerOf } from '@fairlead/core'
import { METHODS, type ResultOf } from '@fairlead/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { Bench } from './bench.ts'
import { AI, PEOPLE, type Person, Rig, TASK } from './rig.ts'

const FORMS = ['json', 'cbor'] as const
const ALICE = callerOf('alice')
const BOB = callerOf('bob')

let rig: Rig
afterEach(() => rig.close())

async function enqueue(as: Person, request: object = TASK): Promise<string> {
  return (await rig.call(as, 'aicf.enqueue', request as typeof TASK)).task_id
}

describe('auth.whoami', () => {
  it.each(FORMS)(
    'FIGURE-9: every role hears who it is, and what it may call (%s)',
    async (form) => {
      rig = await Rig.open()
      for (const [person, { role, subject }] of Object.entries(PEOPLE)) {
        const me = await rig.call(person as Person, 'auth.whoami', {}, form)
        expect(me).toMatchObject({ role, subject, caller: callerOf(subject), is_open: false })
        const may = Object.values(METHODS).filter(
          ({ roles }) => role === 'admin' || (roles as readonly string[]).includes(role),
        )
        expect(me.methods).toEqual(may.map(({ name }) => name).sort())
      }
      expect((await rig.call('atlas', 'auth.whoami', {})).scope).toMatchObject({ kinds: ['*'] })
      expect(await rig.outcome(null, 'auth.whoami', {})).toBe('Unauthorized')
    },
  )

  it('FIGURE-9: a token that only reads may call nothing that changes anything', async () => {
    rig = await Rig.open()
    const { token } = rig.tokenFile.create({
      ...{ role: 'operator', subject: 'watch', scope: { readOnly: true } },
    })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'auth.whoami', params: {} })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${rig.server.url}/rpc`, { method: 'POST', headers, body })
    const { result } = (await answer.json()) as { result: ResultOf<'auth.whoami'> }
    expect(result.scope.read_only).toBe(true)
    const writing = Object.values(METHODS).filter(({ access }) => access === 'write')
    for (const { name } of writing) expect(result.methods).not.toContain(name)
    expect(result.methods).toContain('policy.get')
  })

  it('FIGURE-9: a server without tokens says so', async () => {
    rig = await Rig.open({ tokens: false })
    expect(await rig.call(null, 'auth.whoami', {})).toMatchObject({ role: 'admin', is_open: true })
  })
})

describe('who sees what', () => {
  it.each(FORMS)(
    'FIGURE-8: a requester sees its own jobs, all others see all (%s)',
    async (form) => {
      rig = await Rig.open()
      const own = await enqueue('alice')
      for (let i = 0; i < 2; i++) await enqueue('bob', AI)
      const seen = async (as: Person) => {
        const { waiting, blockers } = await rig.call(as, 'stats.waiting', {}, form)
        const verdict = await rig.call(as, 'stats.verdict', {}, form)
        expect(verdict).toMatchObject({ status: 'fine', waiting, running: 0 })
        return [waiting, blockers.map(({ kind, jobs }) => [kind, jobs])]
      }
      expect(await seen('alice')).toEqual([1, [['task', 1]]])
      expect(await seen('bob')).toEqual([2, [['ai', 2]]])
      expect(await seen('operator')).toEqual([
        3,
        [
          ['ai', 2],
          ['task', 1],
        ],
      ])
      const { blockers } = await rig.call('alice', 'stats.waiting', {}, form)
      expect(blockers[0]).toMatchObject({ example: own, names: [{ name: 'resize', jobs: 1 }] })
      const tasks = await rig.call('auditor', 'stats.waiting', { kind: 'task' }, form)
      expect([tasks.waiting, tasks.blockers.length]).toEqual([1, 1])
      expect(await rig.outcome('atlas', 'stats.waiting', {}, form)).toBe('Forbidden')
    },
  )

  it('FIGURE-8: in fairness it sees its own line, and others in sum; names are those of tokens', async () => {
    rig = await Rig.open({ auditsTokens: true })
    for (const as of ['alice', 'bob', 'bob'] as const) await enqueue(as)
    const [all] = (await rig.call('operator', 'stats.fairness', {})).kinds
    expect(all?.tenants.map(({ caller, name, ready }) => [caller, name, ready])).toEqual(
      expect.arrayContaining([
        [ALICE, 'alice', 1],
        [BOB, 'bob', 2],
      ]),
    )
    const [own] = (await rig.call('alice', 'stats.fairness', {})).kinds
    expect(own?.tenants.map(({ caller }) => caller)).toEqual([ALICE])
    expect(own?.rest).toMatchObject({ tenants: 1, ready: 2 })
    const [first] = (await rig.call('operator', 'stats.fairness', { limit: 1 })).kinds
    expect([first?.tenants.length, first?.rest?.tenants, first?.tenants_total]).toEqual([1, 1, 2])
  })

  it('FIGURE-8: in budgets it sees the limits that are open to it, and its own holds', async () => {
    rig = await Rig.open({
      auditsTokens: true,
      policy: { admit: [{ kind: 'task', requirements: [{ key: 'calls', amount: 2 }] }] },
    })
    const limit = { kind: 'rolling', capacity: 10, window_seconds: 60 } as const
    await rig.call('operator', 'limits.define', { limit: { key: 'calls', ...limit } })
    await rig.call('operator', 'limits.define', {
      limit: { key: 'of-bob', ...limit, callers: ['bob'] },
    })
    const bench = await Bench.open(rig)
    const task = await enqueue('bob')
    await bench.offered(task)
    const seen = async (as: Person) => (await rig.call(as, 'stats.budgets', {})).budgets
    const [calls, more] = await seen('operator')
    expect(calls).toMatchObject({
      ...{ key: 'calls', capacity: 10, used: 0, reserved: 2, free: 8, debt: 0, window_ms: 60_000 },
      holders: [{ task_id: task, caller: BOB, name: 'bob', amount: 2 }],
      holders_total: 1,
    })
    expect(calls?.resets_in_ms).toBeGreaterThan(0)
    expect(more?.key).toBe('of-bob')
    const alices = await seen('alice')
    expect(alices.map(({ key, reserved, holders }) => [key, reserved, holders])).toEqual([
      ['calls', 2, []],
    ])
    const page = await rig.call('operator', 'stats.budgets', { limit: 1 })
    expect(page).toMatchObject({ cursor: 'calls' })
    const rest = await rig.call('operator', 'stats.budgets', { cursor: 'calls' })
    expect(rest.budgets.map(({ key }) => key)).toEqual(['of-bob'])
  })
})

describe('budgets', () => {
  it.each(FORMS)(
    'FIGURE-6: used, reserved, free and debt of each kind of limit (%s)',
    async (form) => {
      rig = await Rig.open()
      const reserve = (lease_id: string, key: string, amount: number) =>
        rig.call('operator', 'limits.reserve', { lease_id, requirements: [{ key, amount }] }, form)
      const complete = (lease_id: string, key: string, actual_amount: number) =>
        rig.call(
          'operator',
          'limits.complete',
          { lease_id, actuals: [{ key, actual_amount }] },
          form,
        )
      const window = { capacity: 10, window_seconds: 3_600 } as const
      for (const limit of [
        { key: 'bucket', kind: 'bucket', burst: 10, rate: 0.001 },
        { key: 'fixed', kind: 'fixed', ...window },
        { key: 'rolling', kind: 'rolling', ...window },
        { key: 'slots', kind: 'concurrency', capacity: 10, timeout_seconds: 60 },
      ] as const) {
        await rig.call('operator', 'limits.define', { limit }, form)
        await reserve(`${limit.key}-over`, limit.key, 3)
        await complete(`${limit.key}-over`, limit.key, 4)
        await reserve(`${limit.key}-live`, limit.key, 5)
      }
      const { at, budgets } = await rig.call('operator', 'stats.budgets', {}, form)
      const figures = budgets.map(({ key, used, reserved, free, debt }) => [
        key,
        used,
        reserved,
        free,
        debt,
      ])
      expect(figures).toEqual([
        ['bucket', 4, 5, 1, 0],
        ['fixed', 4, 5, 1, 0],
        ['rolling', 4, 5, 1, 0],
        ['slots', 0, 5, 5, 0],
      ])
      const resets = budgets.map(({ resets_at, whole_at }) => [resets_at, whole_at])
      const [bucket, fixed, rolling, slots] = resets
      expect(slots).toEqual([null, null])
      const hour = Math.floor(at / 3_600_000) + 1
      expect(fixed).toEqual([hour * 3_600_000, hour * 3_600_000])
      expect(rolling?.[0]).toBeGreaterThan(at + 3_590_000)
      expect(bucket?.[0]).toBeGreaterThan(at)
      expect(bucket?.[1]).toBeGreaterThan(at + 8_000_000)
    },
  )

  it('FIGURE-6: a debt, and the jobs that wait for a limit', async () => {
    rig = await Rig.open({
      policy: { admit: [{ kind: 'task', requirements: [{ key: 'calls', amount: 2 }] }] },
    })
    const limit = { key: 'calls', kind: 'rolling', capacity: 10, window_seconds: 60 } as const
    await rig.call('operator', 'limits.define', { limit })
    const requirements = [{ key: 'calls', amount: 10 }]
    await rig.call('operator', 'limits.reserve', { lease_id: 'one', requirements })
    const actuals = [{ key: 'calls', actual_amount: 25 }]
    await rig.call('operator', 'limits.complete', { lease_id: 'one', actuals })
    await Bench.open(rig)
    await enqueue('bob')
    const { budgets } = await rig.call('operator', 'stats.budgets', {})
    expect(budgets).toMatchObject([{ used: 25, reserved: 0, free: 0, debt: 15, waiting: 1 }])
  })
})

describe('jobs', () => {
  it.each(FORMS)('FIGURE-11: a timeline as stretches of time (%s)', async (form) => {
    rig = await Rig.open()
    const bench = await Bench.open(rig)
    const task_id = await enqueue('alice')
    const { lease_id } = await bench.offered(task_id)
    await bench.call('aicf.ackLease', lease_id)
    await bench.call('aicf.failLease', lease_id, { code: 'oom' })
    const { at, spans } = await rig.call('alice', 'aicf.getTimeline', { task_id }, form)
    const stretches = spans.map(({ what, reason }) => [what, reason])
    expect(stretches).toEqual([
      ['waiting', null],
      ['offered', null],
      ['running', null],
      ['waiting', 'backoff'],
    ])
    expect(spans[2]).toMatchObject({
      ...{ what: 'running', attempt: 0, provider_id: 'provider:atlas' },
      ...{ ended: 'provider_fail', code: 'oom' },
    })
    const last = spans.at(-1)
    expect(last).toMatchObject({ to: null, ms: at - (last?.from ?? 0) })
    for (const [i, span] of spans.slice(1).entries()) expect(span.from).toBe(spans[i]?.to)
    expect(spans[0]?.from).toBe((await rig.engine.getJob(task_id as never)).enqueueTs)
  })

  it('FIGURE-11: a completed job, and one that ended before it was taken', async () => {
    rig = await Rig.open()
    const cancelled = await enqueue('alice')
    await rig.call('alice', 'aicf.cancelJob', { task_id: cancelled })
    const ended = await rig.call('alice', 'aicf.getTimeline', { task_id: cancelled })
    for (const { what, to } of ended.spans) expect([what, to === null]).toEqual(['waiting', false])
    const bench = await Bench.open(rig)
    const task_id = await enqueue('alice')
    await bench.call('aicf.completeLease', (await bench.offered(task_id)).lease_id)
    const { spans } = await rig.call('alice', 'aicf.getTimeline', { task_id })
    expect(spans.at(-1)).toMatchObject({ what: 'running', ended: 'completed', attempt: 0 })
    const row = await rig.engine.getJob(task_id as never)
    expect([spans[0]?.from, spans.at(-1)?.to]).toEqual([row.enqueueTs, row.endedAt])
  })

  it('FIGURE-12: what may be done with a job now, by its state and by who asks', async () => {
    rig = await Rig.open()
    const task_id = await enqueue('alice')
    const actions = async (as: Person) => (await rig.call(as, 'aicf.getJob', { task_id })).actions
    expect(await actions('alice')).toEqual(['cancel'])
    expect(await actions('operator')).toEqual(['cancel'])
    expect(await actions('auditor')).toEqual([])
    await rig.call('alice', 'aicf.cancelJob', { task_id })
    expect(await actions('alice')).toEqual(['retry'])
    expect(await actions('auditor')).toEqual([])
  })

  it('FIGURE-12: a job can be asked for without payload and output', async () => {
    rig = await Rig.open()
    const bench = await Bench.open(rig)
    const task_id = await enqueue('alice')
    const { lease_id } = await bench.offered(task_id)
    await bench.call('aicf.completeLease', lease_id, { output: '0x6f6b' })
    const whole = await rig.call('alice', 'aicf.getJob', { task_id })
    expect([whole.job.request.payload, whole.result?.output]).toEqual([TASK.payload, '0x6f6b'])
    const bare = await rig.call('alice', 'aicf.getJob', { task_id, payload: false })
    expect([bare.job.request.payload, bare.result?.output]).toEqual([{}, null])
    expect(bare.result?.output_digest).toBe(whole.result?.output_digest)
  })
})

describe('policy', () => {
  it.each(FORMS)(
    'FIGURE-10: every setting with its value, its default and its purpose (%s)',
    async (form) => {
      rig = await Rig.open({ policy: { queue: { batch_size: 512 } } })
      const { preset, settings } = await rig.call('auditor', 'policy.describe', {}, form)
      expect(preset).toBe('queue')
      const changed = settings.filter(({ is_default }) => !is_default)
      expect(changed).toMatchObject([{ path: 'queue.batch_size', value: 512, default: 256 }])
      for (const { purpose, expected } of settings) expect([purpose, expected]).not.toContain('')
      const { policy } = await rig.call('auditor', 'policy.get', {}, form)
      const valueAt = (path: string) =>
        path
          .split('.')
          .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], policy)
      for (const { path, value } of settings) expect(value).toEqual(valueAt(path))
      const fund = await rig.call('auditor', 'policy.describe', { preset: 'fund' }, form)
      expect(fund.settings.find(({ path }) => path === 'match.fairness')).toMatchObject({
        ...{ value: 'tenant', default: 'score', is_default: false },
      })
    },
  )

  it.each(FORMS)('FIGURE-10: a dry run tells the changes, and makes none (%s)', async (form) => {
    rig = await Rig.open()
    const before = rig.engine.lastEventSeq
    const policy = { queue: { batch_size: 512 } }
    const changes = [{ path: 'queue.batch_size', from: 256, to: 512 }]
    const params = { policy, dry_run: true }
    expect((await rig.call('operator', 'policy.set', params, form)).changes).toEqual(changes)
    expect(rig.engine.view.policy.queue.batchSize).toBe(256)
    expect(rig.engine.lastEventSeq).toBe(before)
    const wrong = { policy: { queue: { batch_size: 0 } }, dry_run: true }
    expect(await rig.outcome('operator', 'policy.set', wrong, form)).toBe('InvalidParams')
    const made = await rig.call('operator', 'policy.set', { policy }, form)
    expect(made.changes).toEqual(changes)
    expect(rig.engine.view.policy.queue.batchSize).toBe(512)
    expect((await rig.call('operator', 'policy.set', { policy }, form)).changes).toEqual([])
  })
})

describe('the audit log', () => {
  it.each(FORMS)(
    'FIGURE-14: the newest entries first, a page at a time, to the oldest (%s)',
    async (form) => {
      rig = await Rig.open()
      for (let i = 0; i < 5; i++) await enqueue('alice')
      const { entries: oldest } = await rig.call('auditor', 'audit.list', {}, form)
      const found: unknown[] = []
      let cursor: string | null = null
      do {
        const params = {
          order: 'newest' as const,
          limit: 2,
          ...(cursor === null ? {} : { cursor }),
        }
        const page: ResultOf<'audit.list'> = await rig.call('auditor', 'audit.list', params, form)
        expect(page.entries.length).toBeLessThanOrEqual(2)
        found.push(...page.entries)
        cursor = page.cursor
      } while (cursor !== null)
      expect(found.toReversed()).toEqual(oldest)
      const after = { order: 'newest' as const, after_seq: oldest.length - 1 }
      const last = await rig.call('auditor', 'audit.list', after, form)
      expect(last).toEqual({ entries: [oldest.at(-1)], cursor: null })
    },
  )
})

describe('rates and sizes', () => {
  it('FIGURE-13: what became of the attempts of a provider', async () => {
    rig = await Rig.open()
    const bench = await Bench.open(rig)
    const leaseOf = async () => (await bench.offered(await enqueue('alice'))).lease_id
    await bench.call('aicf.completeLease', await leaseOf())
    const limited = await leaseOf()
    await bench.call('aicf.ackLease', limited)
    await bench.call('aicf.failLease', limited, { code: 'rate_limited', permanent: true })
    await bench.call('aicf.declineLease', await leaseOf())
    const { providers } = await rig.call('operator', 'stats.providers', {})
    const outcomes = { assigned: 3, completed: 1, failed: 1, declined: 1, rate_limited: 1 }
    expect(providers).toMatchObject([
      { provider_id: 'provider:atlas', recent: outcomes, total: outcomes },
    ])
    expect((await rig.call('borea', 'stats.providers', {})).providers).toEqual([])
    const { queues } = await rig.call('operator', 'queues.list', {})
    expect(queues).toMatchObject([{ kind: 'task', name: 'resize', waiting: 1, running: 0 }])
    expect(Object.keys(queues[0]?.per_second ?? {})).toEqual(['enqueued', 'completed', 'failed'])
  })

  it('FIGURE-13: log, tables and the last backup', async () => {
    rig = await Rig.open({ isOnFile: true })
    await enqueue('alice')
    const report = async () => (await rig.call('admin', 'stats.storage', {})).storage
    const before = await report()
    expect(before).toMatchObject({ last_backup: null, journal: { oldest: 1 } })
    expect(before?.tables.bytes).toBeGreaterThan(0)
    expect(before?.journal.newest).toBe(rig.engine.lastEventSeq)
    const path = `${rig.folder}/backup.db`
    const { bytes } = await rig.call('admin', 'storage.backup', { path })
    expect((await report())?.last_backup).toMatchObject({ path, bytes })
    expect((await report())?.tables).toMatchObject({ behind_changes: expect.any(Number) })
  })

  it('FIGURE-13: the history begins empty', async () => {
    rig = await Rig.open()
    const history = await rig.call('operator', 'stats.history', {})
    expect(history).toMatchObject({ step_ms: 5_000, enqueued: [], waiting: [] })
  })
})
