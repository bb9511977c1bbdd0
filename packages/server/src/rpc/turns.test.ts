import { expect, it } from 'vitest'
import { Turns } from './turns.ts'

/** Takes longer than a slice, so that whatever comes next has to wait. */
function long(): void {
  const end = performance.now() + 10
  while (performance.now() < end);
}

it('RPC-9: a call waits for one step of each other token at most', async () => {
  const turns = new Turns()
  const begun: string[] = []
  const step = (name: string) => () => {
    begun.push(name)
    long()
  }
  const all = [1, 2, 3, 4].map((i) => turns.run('greedy', step(`greedy ${i}`)))
  all.push(turns.run('modest', step('modest')))
  await Promise.all(all)
  expect(begun).toEqual(['greedy 1', 'greedy 2', 'modest', 'greedy 3', 'greedy 4'])
})

it('RPC-9: a message is read when the calls of those before it have begun', async () => {
  const turns = new Turns()
  const begun: string[] = []
  const step = (name: string) => () => {
    begun.push(name)
    long()
  }
  const first = turns.read('one', step('message 1'))
  const second = turns.read('one', step('message 2'))
  const calls = first.then(() =>
    Promise.all([turns.run('one', step('call 1a')), turns.run('one', step('call 1b'))]),
  )
  await Promise.all([second, calls])
  expect(begun).toEqual(['message 1', 'call 1a', 'call 1b', 'message 2'])
})

it('RPC-9: timers and sockets have their turn between the slices', async () => {
  const turns = new Turns()
  let done = 0
  const all = Array.from({ length: 20 }, () =>
    turns.run('greedy', () => {
      done++
      long()
    }),
  )
  const seen = await new Promise<number>((resolve) => setTimeout(() => resolve(done), 0))
  expect(seen).toBeLessThan(20)
  await Promise.all(all)
})

it('RPC-9: a step that throws rejects its own call, and the others go on', async () => {
  const turns = new Turns()
  const all = [long, () => raise('no'), () => 7].map((task) => turns.run<unknown>('one', task))
  expect(await Promise.allSettled(all)).toEqual([
    { status: 'fulfilled', value: undefined },
    { status: 'rejected', reason: new Error('no') },
    { status: 'fulfilled', value: 7 },
  ])
})

function raise(text: string): never {
  throw new Error(text)
}
