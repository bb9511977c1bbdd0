import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ManualWorker } from './manual-worker.ts'
import { Rig, START } from './rig.ts'

let rig: Rig
let worker: ManualWorker

beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

function oldestTask(): number | null | undefined {
  return rig.engine.view.census().queues.find(({ kind }) => kind === 'task')?.oldestAt
}

it('METRICS-1: the oldest wait is that of the job that was enqueued first, whatever its id', async () => {
  expect(oldestTask()).toBeNull()
  for (let i = 0; i < 50; i++) {
    await rig.enqueue(`k-${i}`).done
    await rig.clock.advance(10)
  }
  expect(oldestTask()).toBe(START)
  worker = await rig.connect('w-1', { slots: 10 })
  await rig.clock.settle()
  expect(worker.offers).toHaveLength(10)
  expect(oldestTask()).toBe(START + 100)
})

it('METRICS-1: a job in backoff waits like any other, from when it was enqueued', async () => {
  worker = await rig.connect('w-1', { slots: 1 })
  const { leaseId } = await rig.offered('first', worker)
  await rig.clock.advance(1_000)
  await rig.enqueue('second').done
  expect(oldestTask()).toBe(START + 1_000)
  await worker.session.setSlots(0)
  await worker.session.fail(leaseId, { code: 'error', permanent: false })
  await rig.clock.settle()
  expect(oldestTask()).toBe(START)
})
