import type { JobId, LeaseId, LeaseListener, WorkerId } from '@fairlead/core'
import type { EngineEvent } from '@fairlead/engine'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ATLAS, Call, outcomesOf, Rig } from './rig.ts'

let rig: Rig

beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

/** The numbers of events, as a subscriber hears them. */
async function subscribe(afterSeq?: number): Promise<number[]> {
  const heard: number[] = []
  await rig.engine.onEvent(({ seq }) => heard.push(seq), afterSeq)
  return heard
}

/** The numbers of all entries after one. */
async function stored(afterSeq: number): Promise<number[]> {
  return (await rig.engine.view.read.journal(afterSeq, 10_000)).map(({ seq }) => seq)
}

describe('workers', () => {
  it('ENGINE-2: are offered nothing, and told of no loss, before it is stored', async () => {
    const worker = await rig.connect()
    rig.store.isHolding = true
    const enqueued = rig.enqueue('a')
    const write = await rig.store.underWay()
    await rig.clock.settle()
    expect(await rig.leasesAfter(write)).toHaveLength(1)
    expect(worker.offers).toEqual([])
    await write.confirm()
    expect(await enqueued.done).toBe('ok')
    await rig.clock.settle()
    expect(worker.offers.map(({ jobId }) => jobId)).toEqual([enqueued.value])

    const cancelled = rig.cancel(enqueued.value as JobId)
    const end = await rig.store.underWay()
    await rig.clock.settle()
    expect(worker.lostLeases).toEqual([])
    await end.confirm()
    expect(await cancelled.done).toBe('ok')
    expect(worker.lostLeases).toEqual([[worker.offered.leaseId, 'job_ended']])
  })

  it.each(['lost', 'stored'] as const)(
    'LOOP-1: hear nothing of a record whose append failed, and of its work once it is stored; it was %s',
    async (fate) => {
      const worker = await rig.connect()
      rig.store.isHolding = true
      const enqueued = rig.enqueue('a')
      const write = await rig.store.underWay()
      if (fate === 'stored') await write.store()
      write.fail()
      expect(await enqueued.done).toBe('StoreUnavailable')
      await rig.clock.settle()
      expect([worker.offers, worker.heldLeases]).toEqual([[], []])
      await rig.store.letGo()
      await rig.clock.advance(250)
      const jobs = await rig.jobs()
      expect(jobs).toHaveLength(1)
      expect(new Set(worker.offers.map(({ jobId }) => jobId))).toEqual(new Set(jobs))
      expect(worker.heldLeases.map(({ leaseId }) => leaseId)).toEqual([worker.offered.leaseId])
    },
  )

  it('WORKER-3: are offered the lease of another when its move is stored, not before', async () => {
    const first = await rig.connect('w-1', { slots: 1 })
    const { leaseId, jobId } = await rig.offered('a', first)
    const second = await rig.connect('w-2', { slots: 1 })
    // Its work has to be read for the one that comes back.
    const payload = rig.store.holdAnswer('payloads')
    const back = await rig.connect('w-1', { slots: 1, holds: [leaseId as LeaseId] })
    await payload.asked
    rig.store.isHolding = true
    const left = new Call(back.session.close())
    const move = await rig.store.underWay()
    payload.release()
    await rig.clock.settle()
    expect(second.offers).toEqual([])
    await move.confirm()
    expect(await left.done).toBe('ok')
    await rig.clock.settle()
    expect(second.offers.map((offer) => offer.jobId)).toEqual([jobId])
    expect(back.offers).toEqual([])
  })

  it('WORKER-3: and not with the batch that gave it to the other', async () => {
    const first = await rig.connect('w-1', { slots: 9 })
    const second = await rig.connect('w-2', { slots: 1 })
    rig.store.isHolding = true
    const enqueued = rig.enqueue('a')
    const one = await rig.store.underWay()
    const left = new Call(first.session.close())
    // Enough for a batch of their own, which is handed over at once.
    const more = Array.from({ length: 47 }, (_, n) => rig.enqueue(`b-${n}`))
    const two = await rig.store.underWay()
    expect(two.commands.map(({ type }) => type)).toContain('disconnectWorker')
    await one.confirm()
    expect(await enqueued.done).toBe('ok')
    await rig.clock.settle()
    expect([first.offers, second.offers]).toEqual([[], []])
    await two.confirm()
    expect(await outcomesOf([left, ...more])).toEqual(Array(48).fill('ok'))
    await rig.clock.settle()
    expect(second.offers.map((offer) => offer.jobId)).toEqual([enqueued.value])
  })
})

describe('the next session of a worker', () => {
  /** What a second session of w-1 hears: leases that it goes on with, offers, losses. */
  function reconnect(holds: readonly LeaseId[]) {
    const heard: unknown[] = []
    const listener: LeaseListener = {
      held: (leases) => heard.push(['held', ...leases.map(({ leaseId }) => leaseId)]),
      offer: ({ leaseId }) => heard.push(['offer', leaseId]),
      lost: (leaseId) => heard.push(['lost', leaseId]),
      closed: () => heard.push(['closed']),
    }
    const hello = { providerId: ATLAS, workerId: 'w-1' as WorkerId, slots: 16, holds }
    return { heard, opening: new Call(rig.engine.leaseSource().open(hello, listener)) }
  }

  it('WORKER-10: does not hear what the one before it was to be told after a failed write', async () => {
    const worker = await rig.connect('w-1')
    const { leaseId } = await rig.offered('a', worker)
    await worker.session.ack(leaseId)
    rig.store.isHolding = true
    const failing = rig.enqueue('b')
    const write = await rig.store.underWay()
    write.fail()
    expect(await failing.done).toBe('StoreUnavailable')
    await rig.clock.advance(100)
    // With the batch after the outage the worker will hear again what it holds.
    const next = new Call(rig.engine.heartbeat(ATLAS))
    await (await rig.store.underWay()).confirm()
    const resumed = await rig.store.underWay()
    expect(resumed.commands.map(({ type }) => type)).toContain('resume')
    const { heard, opening } = reconnect([])
    await rig.clock.settle()
    await resumed.confirm()
    expect(await next.done).toBe('ok')
    await rig.clock.settle()
    expect(heard).toEqual([])
    await rig.store.letGo()
    expect(await opening.done).toBe('ok')
    expect(heard[0]).toEqual(['held'])
  })

  it('WORKER-10: hears of offers to the one before it as its own', async () => {
    await rig.connect('w-1')
    rig.store.isHolding = true
    const enqueued = rig.enqueue('a')
    const write = await rig.store.underWay()
    const [leaseId] = (await rig.leasesAfter(write)) as [LeaseId]
    const { heard, opening } = reconnect([leaseId])
    await rig.clock.settle()
    expect(heard).toEqual([])
    await write.confirm()
    expect(await enqueued.done).toBe('ok')
    // The worker was connected, and is: that is nothing to write.
    expect(await opening.done).toBe('ok')
    await rig.clock.settle()
    expect(heard).toEqual([
      ['held', leaseId],
      ['offer', leaseId],
    ])
  })
})

describe('an explanation', () => {
  it('ENGINE-2: is given by an engine that is closed meanwhile, of what is stored then', async () => {
    const enqueued = rig.enqueue('a')
    expect(await enqueued.done).toBe('ok')
    rig.store.isHolding = true
    const connecting = new Call(rig.connect())
    const write = await rig.store.underWay()
    const explained = new Call(rig.engine.explain(enqueued.value as JobId))
    const closed = rig.engine.close()
    await rig.clock.settle()
    rig.store.isHolding = false
    await write.confirm()
    await closed
    expect(await outcomesOf([connecting, explained])).toEqual(['ok', 'ok'])
    expect(explained.value?.job.status).toBe('ASSIGNED')
  })
})

describe('an offer whose work cannot be read', () => {
  /** A lease that is not acked, and whose work has to be read for the worker that comes back. */
  async function comeBack() {
    const { leaseId, jobId } = await rig.offered('a', await rig.connect('w-1'))
    rig.store.isUnreadable = true
    const worker = await rig.connect('w-1', { holds: [leaseId] })
    return { worker, leaseId, jobId }
  }

  it('WORKER-12: is read again until it can be, and pushed then', async () => {
    const { worker, leaseId, jobId } = await comeBack()
    await rig.clock.advance(2_000)
    expect(worker.offers).toEqual([])
    rig.store.isUnreadable = false
    await rig.clock.advance(250)
    expect(worker.offers.map((offer) => offer.leaseId)).toEqual([leaseId])
    await worker.session.ack(leaseId)
    expect((await rig.engine.getJob(jobId)).status).toBe('RUNNING')
  })

  it('WORKER-12: is taken back at half of its time, charged to nobody, and its job offered anew', async () => {
    const { worker, leaseId, jobId } = await comeBack()
    await rig.clock.advance(2_499)
    expect((await rig.engine.getJob(jobId)).attempt).toBe(0)
    await rig.clock.advance(1)
    const [first] = await rig.engine.view.read.leases(jobId)
    expect(first).toMatchObject({ id: leaseId, status: 'CANCELLED', isAcked: false })
    const timeline = await rig.engine.timeline(jobId)
    expect(timeline.find(({ action }) => action === 'leaseCancelled')).toMatchObject({
      actor: 'engine',
      details: { reason: 'released' },
    })
    await rig.clock.advance(20_000)
    const attempt = (await rig.engine.getJob(jobId)).attempt ?? 0
    // One lease for each half of an ack timeout, not one for each round.
    expect(attempt).toBeGreaterThan(1)
    expect(attempt).toBeLessThan(11)
    rig.store.isUnreadable = false
    await rig.clock.advance(250)
    expect(worker.offered.jobId).toBe(jobId)
    expect(await rig.engine.getJob(jobId)).toMatchObject({ retries: 0, status: 'ASSIGNED' })
    await rig.engine.checkpoint()
    expect((await rig.store.tables.load()).providers[0]).toMatchObject({
      health: 1_000,
      failures: 0,
    })
  })

  it('WORKER-12: is taken back although the log refuses that for a while', async () => {
    const { worker, leaseId, jobId } = await comeBack()
    await rig.clock.advance(2_400)
    rig.store.isFull = true
    await rig.clock.advance(1_000)
    rig.store.isFull = false
    rig.store.isUnreadable = false
    await rig.clock.advance(1_000)
    const [first] = await rig.engine.view.read.leases(jobId)
    expect(first).toMatchObject({ id: leaseId, status: 'CANCELLED', isAcked: false })
    expect(worker.offered.jobId).toBe(jobId)
    expect((await rig.engine.getJob(jobId)).retries).toBe(0)
  })

  it('WORKER-12: is not read again for a worker that has left', async () => {
    const { worker, leaseId, jobId } = await comeBack()
    await worker.session.close()
    await rig.clock.advance(1_000)
    rig.store.isUnreadable = false
    const back = await rig.connect('w-1', { holds: [leaseId] })
    await rig.clock.advance(1_000)
    expect(worker.offers).toEqual([])
    expect(back.offers.map((offer) => offer.jobId)).toEqual([jobId])
  })
})

describe('events', () => {
  it('ENGINE-2: are told when they are stored, in order, and those of a failed append once it is stored', async () => {
    const events: EngineEvent[] = []
    await rig.engine.onEvent((event) => events.push(event))
    rig.store.isHolding = true
    const calls = [rig.enqueue('a')]
    const one = await rig.store.underWay()
    calls.push(rig.enqueue('b'))
    await rig.clock.settle()
    expect(events).toEqual([])
    await one.confirm()
    expect(await calls[0]?.done).toBe('ok')
    expect(events).toMatchObject([{ type: 'jobEnqueued', jobId: calls[0]?.value }])
    const two = await rig.store.underWay()
    two.fail()
    expect(await calls[1]?.done).toBe('StoreUnavailable')
    expect(events).toHaveLength(1)
    rig.store.isHolding = false
    expect(await rig.enqueue('c').done).toBe('ok')
    expect(events.map(({ type }) => type)).toEqual(Array(3).fill('jobEnqueued'))
    expect(events.map(({ seq }) => seq)).toEqual(await stored(1))
  })

  it('EVENT-1: that are stored while old ones are read come behind them, once', async () => {
    await outcomesOf([rig.enqueue('a'), rig.enqueue('b')])
    const page = rig.store.holdAnswer('journal')
    const subscribed = subscribe(1)
    await page.asked
    await outcomesOf([rig.enqueue('c'), rig.enqueue('d')])
    page.release()
    const heard = await subscribed
    expect(await rig.enqueue('e').done).toBe('ok')
    expect(heard).toEqual(await stored(1))
  })

  it('EVENT-1: that joined before the engine heard of an append are told of it, once', async () => {
    rig.store.isHolding = true
    const enqueued = rig.enqueue('a')
    const write = await rig.store.underWay()
    await write.store()
    const heard = await subscribe(0)
    expect(heard).toEqual(await stored(0))
    await write.confirm()
    expect(await enqueued.done).toBe('ok')
    await rig.store.letGo()
    expect(await rig.enqueue('b').done).toBe('ok')
    expect(heard).toEqual(await stored(0))
  })

  it('EVENT-1: of an append whose answer was lost are told when it is found in the log', async () => {
    const [live, replayed] = [await subscribe(), await subscribe(0)]
    rig.store.isHolding = true
    const enqueued = rig.enqueue('a')
    const write = await rig.store.underWay()
    await write.store()
    write.fail()
    expect(await enqueued.done).toBe('StoreUnavailable')
    await rig.store.letGo()
    expect(await rig.enqueue('b').done).toBe('ok')
    expect(live).toEqual(await stored(1))
    expect(live).toHaveLength(2)
    expect(replayed).toEqual(await stored(0))
  })

  it('EVENT-1: have no gap and no repeat for whoever joins while writes go on', async () => {
    const subscribers: { readonly after: number; readonly heard: number[] }[] = []
    const joining: Promise<void>[] = []
    rig.store.isHolding = true
    for (let i = 0; i < 40; i++) {
      const calls = [rig.enqueue(`a-${i}`)]
      const write = await rig.store.underWay()
      calls.push(rig.enqueue(`b-${i}`))
      const after = i % 7
      const join = async () => {
        subscribers.push({ after, heard: await subscribe(after) })
      }
      // Before the write, between it and its answer, or with the answer; every fifth answer is lost.
      if (i % 3 === 0) joining.push(join())
      await write.store()
      if (i % 3 === 1) joining.push(join())
      if (i % 5 === 4) write.fail()
      else await write.confirm()
      if (i % 3 === 2) joining.push(join())
      await calls[0]?.done
      await rig.store.letGo()
      await calls[1]?.done
      rig.store.isHolding = true
    }
    await rig.store.letGo()
    expect(await rig.enqueue('last').done).toBe('ok')
    await Promise.all(joining)
    expect(subscribers).toHaveLength(40)
    for (const { after, heard } of subscribers) expect(heard).toEqual(await stored(after))
  })
})
