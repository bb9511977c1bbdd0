import { expect, it, onTestFinished } from 'vitest'
import { HeapGuard } from '../src/heap-guard.ts'

const LIMIT = 100 * 1_024 * 1_024

/** A guard on figures of a test's own. */
function guardOn() {
  const heap = { used: 0, jobs: 0, nowMs: 0 }
  const guard = new HeapGuard({
    sharePercent: 25,
    jobs: () => heap.jobs,
    read: () => ({ limit: LIMIT, used: heap.used }),
    nowMs: () => heap.nowMs,
  })
  onTestFinished(() => guard.close())
  return { heap, guard }
}

it('HEAP-1: jobs that came since the last collection count 1 KiB each', () => {
  const { heap, guard } = guardOn()
  heap.jobs = 25 * 1_024
  expect(() => guard.refuseWhenFull()).not.toThrow()
  heap.jobs++
  expect(() => guard.refuseWhenFull()).toThrow(/memory of the server/)
  // They take less: it goes on.
  heap.used = 15 * 1_024 * 1_024
  guard.noteCollection()
  expect(() => guard.refuseWhenFull()).not.toThrow()
  expect(guard.figures).toMatchObject({ live: heap.used, liveMax: LIMIT / 4 })
})

it('HEAP-1: garbage alone refuses nothing until the heap is nearly full', () => {
  const { heap, guard } = guardOn()
  heap.used = 0.85 * LIMIT
  heap.nowMs += 100
  expect(() => guard.refuseWhenFull()).not.toThrow()
  heap.used++
  heap.nowMs += 99
  // It is looked at ten times a second at the most.
  expect(() => guard.refuseWhenFull()).not.toThrow()
  heap.nowMs++
  expect(() => guard.refuseWhenFull()).toThrow(
    expect.objectContaining({ code: 'QueueOverCapacity', retryable: true }) as Error,
  )
})

it('HEAP-1: long answers that are alive for a moment keep no job out, unless they are too many', () => {
  const { heap, guard } = guardOn()
  heap.jobs = 100
  heap.used = 50 * 1_024 * 1_024
  guard.noteCollection()
  expect(() => guard.refuseWhenFull()).not.toThrow()
  heap.used++
  guard.noteCollection()
  expect(() => guard.refuseWhenFull()).toThrow(/memory of the server/)
})
