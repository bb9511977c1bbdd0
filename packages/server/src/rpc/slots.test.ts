import { expect, it } from 'vitest'
import { Slots } from './slots.ts'

it('RPC-9: so many of each token are under way at once, first come first served', async () => {
  const slots = new Slots(2)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const begin = (token: string, name: string) =>
    slots.run(token, () => {
      begun.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  const all = [begin('a', 'a1'), begin('a', 'a2'), begin('a', 'a3'), begin('b', 'b1')]
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'b1'])
  ends[0]?.()
  await all[0]
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
  for (const end of ends) end()
  await Promise.all(all)
})

it('RPC-9: one that fails gives its slot back', async () => {
  const slots = new Slots(1)
  const failing = slots.run('a', () => {
    throw new Error('no')
  })
  const next = slots.run('a', () => 'done')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('done')
})

/** When all that can go on by itself has. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
