import type { JobId } from '@fairlead/core'
import { type Command, EngineState } from '@fairlead/engine'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { ATLAS, Call, outcomesOf, Rig, START } from './rig.ts'

let rig: Rig

beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

/** The next command of this type is carried out, and then its state turns out to have a defect. */
function breakAt(type: Command['type']): void {
  const { apply } = EngineState.prototype
  const mend = () => {
    EngineState.prototype.apply = apply
  }
  onTestFinished(mend)
  EngineState.prototype.apply = function (command, nowMs) {
    const applied = apply.call(this, command, nowMs)
    if (command.type !== type) return applied
    mend()
    throw new TypeError('a planted defect')
  }
}

const stake = (amount = 7n) => new Call(rig.engine.stake(ATLAS, amount))

describe('a start', () => {
  it('RECOVER-1: loads the tables, replays the log after them, and closes the gap', async () => {
    const worker = await rig.connect()
    const offer = await rig.offered('a', worker)
    expect(await rig.ack(offer).done).toBe('ok')
    rig.store.isHoldingRows = true
    const later = rig.enqueue('b')
    expect(await later.done).toBe('ok')
    expect(await stake().done).toBe('ok')
    await rig.crash(3_600_000)
    expect(await rig.jobs()).toEqual([offer.jobId, later.value])
    expect(rig.engine.view.provider(ATLAS)?.stake).toBe(7n)
    expect(await rig.engine.getJob(offer.jobId)).toMatchObject({ status: 'RUNNING', retries: 0 })
    const [lease] = await rig.engine.view.read.leases(offer.jobId)
    expect(lease?.tDeadline).toBe(START + 600_000 + 3_600_000)
  })

  it('RECOVER-1: after a start in the middle of a recovery recovers the same', async () => {
    rig.store.isHoldingRows = true
    const calls = Array.from({ length: 40 }, (_, n) => rig.enqueue(`${n}`))
    expect(new Set(await outcomesOf(calls))).toEqual(new Set(['ok']))
    for (let i = 0; i < 3; i++) {
      await rig.crash(10)
      rig.store.isHoldingRows = true
    }
    rig.store.letRowsGo()
    expect(await rig.jobs()).toEqual(calls.map(({ value }) => value))
  })

  it('RECOVER-1: takes a record that nobody was told of', async () => {
    rig.store.isHolding = true
    const call = rig.enqueue('a')
    await (await rig.store.underWay()).store()
    await rig.crash()
    expect(call.outcome).toBe('pending')
    const again = rig.enqueue('a')
    expect(await again.done).toBe('ok')
    expect(await rig.jobs()).toEqual([again.value])
  })

  it('RECOVER-1: refuses a log that leads to another state than it records', async () => {
    rig.store.isHoldingRows = true
    expect(await rig.enqueue('a').done).toBe('ok')
    const { log } = rig.inner
    const { batch } = log.end
    const read = log.read.bind(log)
    log.read = async function* (afterBatch) {
      for await (const record of read(afterBatch)) {
        const body = Uint8Array.from(record.body)
        // The format, and then the digest.
        if (record.batch === batch) body[1] = (body[1] ?? 0) ^ 1
        yield { ...record, body }
      }
    }
    await expect(rig.crash()).rejects.toThrow(`batch ${batch}: the digest is`)
    log.read = read
    await rig.crash()
    expect(await rig.jobs()).toHaveLength(1)
  })
})

describe('a defect', () => {
  it('RECOVER-2: discards the open batch alone, and the state is built again from what was stored', async () => {
    rig.store.isHolding = true
    const first = rig.enqueue('a')
    const append = await rig.store.underWay()
    const open = [rig.enqueue('b')]
    await rig.clock.settle()
    breakAt('stake')
    const calls: Call<unknown>[] = [...open, stake()]
    await rig.clock.settle()
    expect(await outcomesOf(calls)).toEqual(['StoreUnavailable', 'StoreUnavailable'])
    expect(first.outcome).toBe('pending')
    rig.store.isHolding = false
    await append.confirm()
    expect(await first.done).toBe('ok')
    const { loads } = rig.store
    expect(await stake(1n).done).toBe('ok')
    expect(rig.store.loads).toBe(loads + 1)
    expect(rig.engine.view.provider(ATLAS)?.stake).toBe(1n)
    expect(await rig.jobs()).toEqual([first.value])
    const again = rig.enqueue('b')
    expect(await again.done).toBe('ok')
    expect(await rig.jobs()).toEqual([first.value, again.value])
    // The log leads to the same state.
    await rig.crash()
    expect(rig.engine.view.provider(ATLAS)?.stake).toBe(1n)
    expect(await rig.jobs()).toEqual([first.value, again.value])
  })

  it('RECOVER-2: brings nothing of its state into the tables', async () => {
    breakAt('stake')
    expect(await stake().done).toBe('StoreUnavailable')
    expect((await rig.inner.tables.load()).providers[0]?.stake).toBe(0n)
    await rig.clock.advance(10_000)
    expect((await rig.inner.tables.load()).providers[0]?.stake).toBe(0n)
    expect(rig.engine.view.provider(ATLAS)?.stake).toBe(0n)
  })

  it('RECOVER-2: loses no rows that waited, and reads see them after the recovery', async () => {
    await rig.clock.advance(50)
    expect(await rig.enqueue('first').done).toBe('ok')
    const calls = Array.from({ length: 60 }, (_, n) => rig.enqueue(`${n}`))
    expect(new Set(await outcomesOf(calls))).toEqual(new Set(['ok']))
    breakAt('stake')
    expect(await stake().done).toBe('StoreUnavailable')
    expect(await new Call(rig.jobs()).done).toBe('StoreUnavailable')
    await rig.clock.advance(0)
    expect(await rig.jobs()).toHaveLength(61)
    const again = rig.enqueue('0')
    expect(await again.done).toBe('ok')
    expect(again.value).toBe(calls[0]?.value)
  })

  it('RECOVER-2: a key of the discarded batch is new, although the log has more than the tables', async () => {
    rig.store.isHoldingRows = true
    const first = rig.enqueue('a')
    expect(await first.done).toBe('ok')
    rig.store.isHolding = true
    const heartbeat = new Call(rig.engine.heartbeat(ATLAS))
    const append = await rig.store.underWay()
    const lost = rig.enqueue('b')
    await rig.clock.settle()
    breakAt('stake')
    const broken = stake()
    expect(await outcomesOf([lost, broken])).toEqual(Array(2).fill('StoreUnavailable'))
    rig.store.isHolding = false
    await append.confirm()
    await heartbeat.done
    rig.store.letRowsGo()
    const again = [rig.enqueue('a'), rig.enqueue('b')]
    expect(await outcomesOf(again)).toEqual(['ok', 'ok'])
    expect(await rig.jobs()).toEqual([first.value, again[1]?.value])
  })

  it('RECOVER-2: workers keep their connections, and get the payload of the next job under a number', async () => {
    const worker = await rig.connect()
    rig.store.isHolding = true
    const heartbeat = new Call(rig.engine.heartbeat(ATLAS))
    const append = await rig.store.underWay()
    const lost = rig.enqueue('a', { n: 1 })
    await rig.clock.settle()
    breakAt('stake')
    expect(await outcomesOf([lost, stake()])).toEqual(Array(2).fill('StoreUnavailable'))
    rig.store.isHolding = false
    await append.confirm()
    await heartbeat.done
    const next = rig.enqueue('b', { n: 2 })
    expect(await next.done).toBe('ok')
    await rig.clock.settle()
    expect(worker.closedBy).toBeNull()
    expect(worker.offered.jobId).toBe(next.value)
    const { seq } = await rig.engine.getJob(next.value as JobId)
    const [payload] = await rig.engine.view.read.payloads([seq])
    expect(worker.offered.payload).toEqual(payload)
  })

  it('RECOVER-2: is recovered from four times a second until the tables can be loaded', async () => {
    breakAt('stake')
    rig.store.isUnloadable = true
    expect(await stake().done).toBe('StoreUnavailable')
    const { loads } = rig.store
    await rig.clock.advance(10_000)
    expect(rig.store.loads - loads).toBeGreaterThanOrEqual(39)
    expect(rig.store.loads - loads).toBeLessThanOrEqual(41)
    expect(await rig.enqueue('a').done).toBe('StoreUnavailable')
    rig.store.isUnloadable = false
    await rig.clock.advance(250)
    expect(await rig.enqueue('a').done).toBe('ok')
    expect(await rig.jobs()).toHaveLength(1)
  })
})
