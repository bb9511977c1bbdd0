import { expect, it } from 'vitest'
import { Subscribers } from './subscribers.ts'

const entry = (seq: number) => ({
  seq,
  at: seq,
  actor: 'engine',
  action: 'jobEnqueued',
  subject: `job ${seq}`,
  details: {},
})

it('EVENT-1: what is stored behind a batch whose answer was lost waits until that was told', async () => {
  const subscribers = new Subscribers(3)
  const heard: number[] = []
  subscribers.onEvent(({ seq }) => heard.push(seq))
  subscribers.tell([entry(4)])
  // 5 and 6 were stored, and nobody heard.
  subscribers.tell([entry(7)])
  expect(heard).toEqual([4])
  const asked: number[] = []
  await subscribers.catchUp(7, async (afterSeq) => {
    asked.push(afterSeq)
    return [5, 6, 7]
      .filter((seq) => seq > afterSeq)
      .slice(0, 2)
      .map(entry)
  })
  expect(asked).toEqual([4, 6])
  subscribers.tell([entry(8)])
  expect(heard).toEqual([4, 5, 6, 7, 8])
})

it('EVENT-1: without subscribers nothing is read, and the next one hears of what comes', async () => {
  const subscribers = new Subscribers(0)
  subscribers.tell([entry(1)])
  await subscribers.catchUp(5, () => Promise.reject(new Error('nobody asked')))
  const heard: number[] = []
  const stop = subscribers.onEvent(({ seq }) => heard.push(seq))
  subscribers.tell([entry(6)])
  stop()
  subscribers.tell([entry(7)])
  expect(heard).toEqual([6])
})
