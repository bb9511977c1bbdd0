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

it('EVENT-1: a subscriber hears of what is stored from then on, until it stops', () => {
  const subscribers = new Subscribers(3)
  subscribers.tell([entry(4)])
  const heard: number[] = []
  const stop = subscribers.onEvent(({ seq }) => heard.push(seq))
  subscribers.tell([entry(5), entry(6)])
  subscribers.tell([])
  expect(subscribers.lastSeq).toBe(6)
  stop()
  subscribers.tell([entry(7)])
  expect(heard).toEqual([5, 6])
  expect(subscribers.lastSeq).toBe(7)
})
