import { brokenSeq, callerOf, type JobId, type ProviderId } from '@fairlead/core'
import type { EngineEvent } from '@fairlead/engine'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HeldAppend } from './held-store.ts'
import { ACME, ATLAS, Call, DIGEST, OFFER, outcomesOf, Rig, START } from './rig.ts'

const OTHER_DIGEST = `0x${'e'.repeat(64)}`

let rig: Rig

/** The number of jobs that a record adds. */
function enqueuesIn({ commands }: HeldAppend): number {
  return commands.filter(({ type }) => type === 'enqueue').length
}

beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

describe('what is asked while a batch is written', () => {
  it('ENGINE-2: is answered with the next batch, all of it in one', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const one = await rig.store.underWay()
    const later: Call<unknown>[] = []
    for (const key of ['b', 'c', 'd']) {
      later.push(rig.enqueue(key))
      await rig.clock.settle()
    }
    later.push(new Call(rig.engine.heartbeat(ATLAS)))
    await rig.clock.settle()
    // One write at a time, and until it is confirmed nobody hears anything.
    expect(rig.store.held).toBe(0)
    expect([first, ...later].map(({ outcome }) => outcome)).toEqual(Array(5).fill('pending'))
    expect(await rig.jobs()).toEqual([])

    await one.confirm()
    const two = await rig.store.underWay()
    expect(await first.done).toBe('ok')
    expect(await rig.jobs()).toEqual([first.value])
    expect(enqueuesIn(two)).toBe(3)
    await rig.clock.settle()
    expect(later.map(({ outcome }) => outcome)).toEqual(Array(4).fill('pending'))

    await two.confirm()
    expect(await outcomesOf(later)).toEqual(Array(4).fill('ok'))
    expect(await rig.jobs()).toHaveLength(4)
    expect(rig.store.held).toBe(0)
  })

  it('ENGINE-2: is handed over in parts where it is large, and all of it is stored', async () => {
    rig.store.isHolding = true
    const circuit = `0x${'ab'.repeat(131_072)}`
    const request = { kind: 'quantum', max_fee_u64: 1, payload: { circuit, shots: 1 } }
    const many = new Call(rig.engine.enqueueMany(Array(900).fill(request), { caller: ACME }))
    // A turn takes a part of them.
    for (let i = 0; i < 20; i++) await rig.clock.settle()
    let jobs = 0
    while (jobs < 900) {
      const append = await rig.store.underWay()
      expect(append.record.body.length).toBeLessThan(33 * 1_048_576)
      jobs += enqueuesIn(append)
      await append.confirm()
    }
    await rig.store.letGo()
    expect(await many.done).toBe('ok')
  })

  it.each([
    ['confirmed', ['ok', 'InvalidState']],
    ['lost', ['StoreUnavailable', 'StoreUnavailable']],
  ] as const)(
    'ENGINE-2: a refusal that rests on what is being written waits for it; that is %s: %j',
    async (fate, outcomes) => {
      rig.store.isHolding = true
      const borealis = 'provider:borealis' as ProviderId
      const calls = [new Call(rig.engine.registerProvider(borealis, OFFER))]
      const write = await rig.store.underWay()
      calls.push(new Call(rig.engine.registerProvider(borealis, OFFER)))
      await rig.clock.settle()
      expect(calls.map(({ outcome }) => outcome)).toEqual(['pending', 'pending'])
      if (fate === 'confirmed') await write.confirm()
      else write.fail()
      expect(await outcomesOf(calls)).toEqual(outcomes)
      // Either way it happened: the record of a refused append is given again.
      await rig.store.letGo()
      await rig.clock.advance(250)
      const again = new Call(rig.engine.registerProvider(borealis, OFFER))
      expect(await again.done).toBe('InvalidState')
    },
  )

  it('LEASE-4: a renewal tells the times that are stored, not those of the next one', async () => {
    const worker = await rig.connect()
    const offer = await rig.offered('a', worker)
    await rig.ack(offer).done
    await rig.clock.advance(299_000)
    const renew = () => new Call(worker.session.renew(offer.leaseId))
    rig.store.isHolding = true
    const first = renew()
    const one = await rig.store.underWay()
    await rig.clock.advance(1_000)
    const second = renew()
    await rig.clock.settle()
    await one.confirm()
    expect(await first.done).toBe('ok')
    expect(first.value?.deadline).toBe(START + 900_000)
    await (await rig.store.underWay()).confirm()
    expect(await second.done).toBe('ok')
    expect(second.value?.deadline).toBe(START + 1_200_000)
  })
})

describe('many waiting jobs', () => {
  const JOBS = 1_600

  beforeEach(async () => {
    await rig.engine.setPolicy({ queue: { quotas: { leases_max_per_provider: JOBS } } })
    const request = { kind: 'task', payload: { name: 'resize', args: {} } }
    await rig.engine.enqueueMany(Array(JOBS).fill(request), { caller: ACME })
    rig.store.isHolding = true
  })

  it('ENGINE-2: the first leases are written while the next are given, two rounds in a batch and no third one', async () => {
    const worker = new Call(rig.connect('w-1', { slots: JOBS }))
    const one = await rig.store.underWay()
    const two = await rig.store.underWay()
    await rig.clock.settle()
    expect(rig.store.held).toBe(0)
    const roundsIn = ({ commands }: HeldAppend) =>
      commands.filter(({ type }) => type === 'round').length
    expect([one, two].map(roundsIn)).toEqual([2, 2])
    await one.confirm()
    await rig.clock.settle()
    expect(worker.value?.offers).toHaveLength(512)
    const three = await rig.store.underWay()
    expect(roundsIn(three)).toBe(2)
    await two.confirm()
    await three.confirm()
    await rig.clock.settle()
    await rig.store.letGo()
    await rig.clock.settle()
    expect(worker.value?.offers).toHaveLength(JOBS)
  })

  it('LOOP-1: of leases that are not known to be written nobody hears, and no job is given twice', async () => {
    const lost = new Call(rig.connect('w-1', { slots: JOBS }))
    const one = await rig.store.underWay()
    await rig.store.underWay()
    one.fail()
    rig.store.isHolding = false
    expect(await lost.done).toBe('StoreUnavailable')
    const worker = await rig.connect('w-1', { slots: JOBS })
    await rig.clock.settle()
    expect(worker.offers).toHaveLength(JOBS)
    expect(new Set(worker.offers.map(({ jobId }) => jobId)).size).toBe(JOBS)
    expect(rig.engine.stats().leases).toBe(JOBS)
  })
})

describe('many commands', () => {
  const many = (name: string) => Array.from({ length: 48 }, (_, n) => rig.enqueue(`${name}-${n}`))

  it('ENGINE-2: are handed over while one batch is written, no third one, and answered in order', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const one = await rig.store.underWay()
    const second = many('b')
    const two = await rig.store.underWay()
    const third = many('c')
    await rig.clock.settle()
    expect(enqueuesIn(two)).toBe(48)
    expect(rig.store.held).toBe(0)
    expect(pending([first, ...second, ...third])).toBe(97)
    await one.confirm()
    const three = await rig.store.underWay()
    expect(await first.done).toBe('ok')
    expect(pending([...second, ...third])).toBe(96)
    await two.confirm()
    expect(await outcomesOf(second)).toEqual(Array(48).fill('ok'))
    expect(pending(third)).toBe(48)
    await three.confirm()
    expect(await outcomesOf(third)).toEqual(Array(48).fill('ok'))
    expect(await rig.jobs()).toHaveLength(97)
  })

  it('LOOP-1: have an unknown outcome with the batch that they were built on, and all of them happened', async () => {
    const { loads } = rig.store
    rig.store.isHolding = true
    const calls = [rig.enqueue('a')]
    const one = await rig.store.underWay()
    calls.push(...many('b'))
    const two = await rig.store.underWay()
    calls.push(...many('c'))
    await rig.clock.settle()
    rig.store.isHolding = false
    one.fail()
    expect(await outcomesOf(calls)).toEqual(Array(97).fill('StoreUnavailable'))
    // The log refuses what comes behind a refused record.
    await expect(two.store()).rejects.toMatchObject({ code: 'StoreUnavailable' })
    const next = rig.enqueue('d')
    expect(await next.done).toBe('ok')
    const jobs = await rig.jobs()
    expect(jobs).toHaveLength(98)
    expect(jobs.at(-1)).toBe(next.value)
    const again = [rig.enqueue('a'), ...many('b'), ...many('c')]
    expect(await outcomesOf(again)).toEqual(Array(97).fill('ok'))
    expect(again.map(({ value }) => value)).toEqual(jobs.slice(0, 97))
    expect(await rig.jobs()).toEqual(jobs)
    expect(rig.store.loads).toBe(loads)
  })

  it('ENGINE-2: that are all refused wait for what is being written too', async () => {
    rig.store.isHolding = true
    const borealis = 'provider:borealis' as ProviderId
    const register = () => new Call(rig.engine.registerProvider(borealis, OFFER))
    const first = register()
    const write = await rig.store.underWay()
    const refused = Array.from({ length: 48 }, register)
    await rig.clock.settle()
    expect(pending([first, ...refused])).toBe(49)
    write.fail()
    await rig.store.letGo()
    expect(await outcomesOf([first, ...refused])).toEqual(Array(49).fill('StoreUnavailable'))
  })

  const pending = (calls: readonly Call<unknown>[]) =>
    calls.filter(({ outcome }) => outcome === 'pending').length
})

describe('an append that fails', () => {
  it('LOOP-1: leaves its batch and the next one unknown, tells nobody, and happens once the log is back', async () => {
    const worker = await rig.connect()
    const events: EngineEvent[] = []
    await rig.engine.onEvent((event) => events.push(event))
    const { loads } = rig.store
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const one = await rig.store.underWay()
    const second = rig.enqueue('b')
    await rig.clock.settle()
    rig.store.isFull = true
    one.fail()
    expect(await outcomesOf([first, second])).toEqual(['StoreUnavailable', 'StoreUnavailable'])
    await rig.clock.settle()
    expect(await rig.jobs()).toEqual([])
    expect([events, worker.offers]).toEqual([[], []])

    rig.store.isFull = false
    rig.store.isHolding = false
    await rig.clock.advance(250)
    const jobs = await rig.jobs()
    expect(jobs).toHaveLength(2)
    // An offer that was not acked is pushed again after an outage.
    expect(new Set(worker.offers.map(({ jobId }) => jobId))).toEqual(new Set(jobs))
    const types = ['jobEnqueued', 'jobAssigned', 'jobEnqueued', 'jobAssigned']
    expect(events.map(({ type }) => type)).toEqual(types)
    const again = [rig.enqueue('a'), rig.enqueue('b')]
    expect(await outcomesOf(again)).toEqual(['ok', 'ok'])
    expect(again.map(({ value }) => value)).toEqual(jobs)
    expect(await rig.jobs()).toEqual(jobs)
    expect(rig.store.loads).toBe(loads)
    expect(brokenSeq(await rig.engine.view.read.journal(0, 100))).toBeNull()
  })

  it('LOOP-1: is given again with the same number and the same bytes', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const one = await rig.store.underWay()
    one.fail()
    expect(await first.done).toBe('StoreUnavailable')
    const second = rig.enqueue('b')
    const again = await rig.store.underWay()
    expect(again.record).toEqual(one.record)
    await again.confirm()
    const next = await rig.store.underWay()
    expect(next.record.batch).toBe(one.record.batch + 1)
    await next.confirm()
    expect(await second.done).toBe('ok')
  })

  it('LOOP-1: if only its answer was lost, it is found in the log and happened once', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const one = await rig.store.underWay()
    const second = rig.enqueue('b')
    await rig.clock.settle()
    await one.store()
    one.fail()
    expect(await outcomesOf([first, second])).toEqual(['StoreUnavailable', 'StoreUnavailable'])
    await rig.store.letGo()
    const again = [rig.enqueue('a'), rig.enqueue('b')]
    expect(await outcomesOf(again)).toEqual(['ok', 'ok'])
    expect(await rig.jobs()).toEqual(again.map(({ value }) => value))
    expect(brokenSeq(await rig.engine.view.read.journal(0, 100))).toBeNull()
  })

  it('LOOP-1: does not fail what had not been applied yet', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const one = await rig.store.underWay()
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const second = rig.enqueue('b')
    await lookUp.asked
    one.fail()
    expect(await first.done).toBe('StoreUnavailable')
    rig.store.isHolding = false
    lookUp.release()
    expect(await second.done).toBe('ok')
    const again = rig.enqueue('a')
    expect(await again.done).toBe('ok')
    expect(await rig.jobs()).toEqual([again.value, second.value])
  })

  it('LOOP-1: nothing is applied before the log has the record', async () => {
    rig.store.isFull = true
    expect(await rig.enqueue('a').done).toBe('StoreUnavailable')
    const digest = rig.engine.stats()
    expect(await outcomesOf([rig.enqueue('b'), rig.enqueue('c')])).toEqual(
      Array(2).fill('StoreUnavailable'),
    )
    expect(rig.engine.stats()).toEqual(digest)
    rig.store.isFull = false
    await rig.clock.advance(250)
    expect(await rig.jobs()).toHaveLength(1)
  })

  it('ENGINE-2: nothing is explained that was never stored', async () => {
    rig.store.isHolding = true
    const asked = rig.enqueue('a')
    const write = await rig.store.underWay()
    const jobId = write.commands.flatMap((command) =>
      command.type === 'enqueue' ? [command.request.jobId] : [],
    )[0] as JobId
    const early = new Call(rig.engine.explain(jobId))
    expect(await early.done).toBe('NotFound')
    await write.confirm()
    expect(await asked.done).toBe('ok')
    const late = new Call(rig.engine.explain(jobId))
    expect(await late.done).toBe('ok')
    expect(late.value).toMatchObject({ providers: [{ id: ATLAS }] })
  })
})

describe('what ended in the batch that is being written', () => {
  it('ENGINE-7: answers the same before and after that is confirmed', async () => {
    const offer = await rig.offered('a', await rig.connect())
    const ask = () => [
      rig.complete(offer),
      rig.complete(offer, OTHER_DIGEST),
      rig.ack(offer),
      rig.ack(offer, 'provider:borealis' as ProviderId),
      rig.cancel(offer.jobId),
      rig.cancel(offer.jobId, callerOf('birch')),
    ]
    const answers = ['ok', 'LeaseNotLive', 'LeaseNotLive', 'Forbidden', 'InvalidState', 'Forbidden']
    rig.store.isHolding = true
    const first = rig.complete(offer)
    const write = await rig.store.underWay()
    const before = ask()
    await rig.clock.settle()
    expect(before.map(({ outcome }) => outcome)).toEqual(Array(6).fill('pending'))
    await write.confirm()
    expect(await first.done).toBe('ok')
    await rig.store.letGo()
    expect(await outcomesOf(before)).toEqual(answers)
    expect(await outcomesOf(ask())).toEqual(answers)
    expect((await rig.engine.getResult(offer.jobId)).digest).toBe(DIGEST)
    const ends = (await rig.engine.timeline(offer.jobId)).slice(-1)
    expect(ends.map(({ action }) => action)).toEqual(['jobCompleted'])
  })

  it('ENGINE-7: is refused to a worker whose job was cancelled, before and after', async () => {
    const offer = await rig.offered('a', await rig.connect())
    rig.store.isHolding = true
    const cancelled = rig.cancel(offer.jobId)
    const write = await rig.store.underWay()
    const before = [rig.ack(offer), rig.complete(offer), rig.cancel(offer.jobId)]
    await rig.clock.settle()
    await write.confirm()
    expect(await cancelled.done).toBe('ok')
    await rig.store.letGo()
    const answers = ['LeaseNotLive', 'LeaseNotLive', 'InvalidState']
    expect(await outcomesOf(before)).toEqual(answers)
    const after = [rig.ack(offer), rig.complete(offer), rig.cancel(offer.jobId)]
    expect(await outcomesOf(after)).toEqual(answers)
  })

  it('ENGINE-2: gives its result also to who asked a moment before', async () => {
    const offer = await rig.offered('a', await rig.connect())
    const answer = rig.store.holdAnswer('result')
    const result = rig.engine.getResult(offer.jobId)
    await answer.asked
    await rig.complete(offer).done
    answer.release()
    expect((await result).digest).toBe(DIGEST)
  })

  it('LOOP-1: has ended if that fails, as soon as the log is back', async () => {
    const offer = await rig.offered('a', await rig.connect())
    rig.store.isHolding = true
    const calls: Call<unknown>[] = [rig.complete(offer)]
    const write = await rig.store.underWay()
    calls.push(rig.complete(offer, OTHER_DIGEST), rig.cancel(offer.jobId))
    await rig.clock.settle()
    write.fail()
    expect(await outcomesOf(calls)).toEqual(Array(3).fill('StoreUnavailable'))
    expect((await rig.engine.getJob(offer.jobId)).status).toBe('ASSIGNED')
    rig.store.isHolding = false
    expect(await rig.complete(offer, OTHER_DIGEST).done).toBe('LeaseNotLive')
    expect(await rig.complete(offer).done).toBe('ok')
    expect((await rig.engine.getResult(offer.jobId)).digest).toBe(DIGEST)
  })
})

describe('an engine that closes while a batch is written', () => {
  it('LOOP-2: answers all that was asked, after writing it', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const write = await rig.store.underWay()
    const applied = rig.enqueue('b')
    await rig.clock.settle()
    // More than one turn takes in.
    const waiting = Array.from({ length: 300 }, (_, n) => rig.enqueue(`c-${n}`))
    const closed = new Call(rig.engine.close())
    const late = rig.enqueue('d')
    await rig.clock.settle()
    expect([first, applied, closed].map(({ outcome }) => outcome)).toEqual(Array(3).fill('pending'))
    await write.confirm()
    await rig.store.letGo()
    expect(await outcomesOf([first, applied, ...waiting])).toEqual(Array(302).fill('ok'))
    expect(await outcomesOf([late, closed])).toEqual(['StoreUnavailable', 'ok'])
    expect(await rig.store.read.jobs({ afterSeq: 0, limit: 1_000 })).toHaveLength(302)
  })

  it('LOOP-2: answers all that was asked, though an append fails', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const write = await rig.store.underWay()
    const built = rig.enqueue('b')
    await rig.clock.settle()
    const closed = new Call(rig.engine.close())
    rig.store.isHolding = false
    write.fail()
    const outcomes = await outcomesOf([first, built, closed])
    expect(outcomes).toEqual(['StoreUnavailable', 'StoreUnavailable', 'ok'])
  })

  it('LOOP-2: and though the log does not come back', async () => {
    rig.store.isHolding = true
    const calls: Call<unknown>[] = [rig.enqueue('a')]
    const write = await rig.store.underWay()
    calls.push(rig.enqueue('b'))
    await rig.clock.settle()
    calls.push(rig.enqueue('c'))
    const closed = new Call(rig.engine.close())
    rig.store.isFull = true
    write.fail()
    expect(await outcomesOf(calls)).toEqual(Array(3).fill('StoreUnavailable'))
    expect(await closed.done).toBe('ok')
  })
})

it('LOOP-1: a log that throws instead of answering leaves nobody waiting', async () => {
  rig.store.isHolding = true
  const first = rig.enqueue('a')
  const write = await rig.store.underWay()
  const applied = rig.enqueue('b')
  await rig.clock.settle()
  const { append } = rig.store.log
  rig.store.log.append = () => {
    throw new Error('no such log')
  }
  await write.confirm()
  expect(await outcomesOf([first, applied])).toEqual(['ok', 'StoreUnavailable'])
  rig.store.log.append = append
  rig.store.isHolding = false
  expect(await rig.enqueue('b').done).toBe('ok')
})
