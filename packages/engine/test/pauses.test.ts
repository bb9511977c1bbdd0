import { callerOf, type JobId } from '@fairlead/core'
import { explanationText } from '@fairlead/engine'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ACME, ATLAS, Rig } from './rig.ts'

const BOB = callerOf('bob')
const RESIZE = { kind: 'task', name: 'resize', caller: null } as const

let rig: Rig
let worker: ManualWorker
beforeEach(async () => {
  rig = await Rig.open(new MemoryStore())
  worker = await ManualWorker.connect(rig.engine, ATLAS, { slots: 10 })
})
afterEach(() => rig.engine.close())

async function add(name: string, caller = ACME): Promise<JobId> {
  const id = await rig.engine.enqueue({ kind: 'task', payload: { name, args: {} } }, { caller })
  await rig.clock.settle()
  return id
}
const statusOf = async (id: JobId) => (await rig.engine.getJob(id)).status

describe('a paused queue', () => {
  it('PAUSE-1: holds back its jobs and no others, and lets them go when it is resumed', async () => {
    await rig.engine.pauseQueue(RESIZE)
    const [held, free] = [await add('resize'), await add('render')]
    expect(await statusOf(held)).toBe('QUEUED')
    expect(await statusOf(free)).toBe('ASSIGNED')
    expect(rig.engine.view.waitReason(held)).toBe('paused')
    expect(await rig.engine.resumeQueue(RESIZE)).toBe(true)
    await rig.clock.settle()
    expect(await statusOf(held)).toBe('ASSIGNED')
    expect(await rig.engine.resumeQueue(RESIZE)).toBe(false)
  })

  it('PAUSE-1: holds the jobs of one caller', async () => {
    await rig.engine.pauseQueue({ kind: 'task', name: null, caller: BOB })
    const [held, free] = [await add('resize', BOB), await add('resize')]
    expect([await statusOf(held), await statusOf(free)]).toEqual(['QUEUED', 'ASSIGNED'])
    expect(rig.engine.view.queues(null)).toEqual([
      {
        ...{ kind: 'task', name: 'resize', ready: 1, held: 1, waiting: 1, running: 1 },
        oldestAt: rig.clock.now(),
      },
    ])
    expect(rig.engine.view.queues(ACME)).toMatchObject([{ ready: 0, waiting: 0, running: 1 }])
    expect(rig.engine.view.census().queues.find(({ kind }) => kind === 'task')).toMatchObject({
      ready: 0,
      paused: 1,
      noProvider: 0,
    })
  })

  it('PAUSE-2: leases in hand go on, and a retry waits', async () => {
    const id = await add('resize')
    const { leaseId } = worker.offered
    await rig.engine.pauseQueue(RESIZE)
    await rig.engine.ack({ leaseId, by: ATLAS })
    expect(await statusOf(id)).toBe('RUNNING')
    await rig.engine.fail({ leaseId, by: ATLAS, code: 'oom', permanent: false })
    await rig.clock.advance(3_600_000)
    expect(await statusOf(id)).toBe('QUEUED')
    expect(rig.engine.view.waitReason(id)).toBe('paused')
  })

  it('PAUSE-1: a backoff that ends in a paused queue wakes the engine once', async () => {
    const id = await add('resize')
    const { leaseId } = worker.offered
    await rig.engine.ack({ leaseId, by: ATLAS })
    await rig.engine.fail({ leaseId, by: ATLAS, code: 'oom', permanent: false })
    await rig.engine.pauseQueue({ kind: 'task', name: null, caller: null })
    const { notBefore } = await rig.engine.getJob(id)
    await rig.clock.advance((notBefore ?? 0) - rig.clock.now())
    await rig.engine.resumeQueue({ kind: 'task', name: null, caller: null })
    await rig.clock.settle()
    expect(await statusOf(id)).toBe('ASSIGNED')
  })

  it('PAUSE-2: times to live run on', async () => {
    await rig.engine.pauseQueue({ kind: 'task', name: null, caller: null })
    const payload = { name: 'resize', args: {} }
    const asked = { kind: 'task', payload, ttl_abs_secs: 5 }
    const id = await rig.engine.enqueue(asked, { caller: ACME })
    await rig.clock.advance(5_000)
    expect(await statusOf(id)).toBe('EXPIRED')
  })

  it('PAUSE-3: outlives a restart, by replay and from the tables', async () => {
    await rig.engine.pauseQueue(RESIZE)
    await rig.engine.pauseQueue({ kind: 'ai', name: null, caller: BOB })
    await rig.engine.resumeQueue({ kind: 'ai', name: null, caller: BOB })
    const pauses = rig.engine.view.pauses()
    expect(pauses).toMatchObject([RESIZE])
    for (let restarts = 0; restarts < 2; restarts++) {
      await rig.restart(1_000)
      expect(rig.engine.view.pauses()).toEqual(pauses)
      worker = await ManualWorker.connect(rig.engine, ATLAS, { slots: 10 })
      expect(await statusOf(await add('resize'))).toBe('QUEUED')
    }
  })

  it('PAUSE-3: is in the audit log with who did it, once', async () => {
    const acting = { actor: 'token:t1' }
    await rig.engine.pauseQueue(RESIZE, acting)
    await rig.engine.pauseQueue(RESIZE, { actor: 'token:t2' })
    await rig.engine.resumeQueue(RESIZE, acting)
    const entries = await rig.engine.view.read.journal(0, 100)
    const shown = entries.filter(({ action }) => action.startsWith('queue'))
    expect(shown).toMatchObject([
      { action: 'queuePaused', actor: 'token:t1', subject: 'task', details: { name: 'resize' } },
      { action: 'queueResumed', actor: 'token:t1', subject: 'task' },
    ])
  })

  it('EXPLAIN-1: says since when it is paused, and what to do', async () => {
    await rig.engine.pauseQueue(RESIZE)
    await rig.clock.advance(90_000)
    const id = await add('resize')
    const explanation = await rig.engine.explain(id)
    expect(explanation).toMatchObject({ waitReason: 'paused', earliestAt: null, pause: RESIZE })
    expect(explanationText(explanation)).toContain(
      'The queue task "resize" has been paused for 1 min 30 s (since 2025-10-09T08:53:20.000Z). Resume that to let it go.',
    )
  })

  it('ENGINE-11: names a wrong field', async () => {
    const wrong = (key: object) => rig.engine.pauseQueue({ ...RESIZE, ...key } as never)
    await expect(wrong({ kind: 'registration' })).rejects.toThrow(/kind: expected one of ai, q/)
    await expect(wrong({ name: '' })).rejects.toThrow(/name: expected text of 1 to 256/)
    await expect(wrong({ caller: 'bob' })).rejects.toThrow(/caller: expected 32 bytes/)
  })
})
