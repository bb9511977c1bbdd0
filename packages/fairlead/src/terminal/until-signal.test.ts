import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { untilSignal } from './until-signal.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Those of the test runner stay out of it. */
const others = SIGNALS.map((signal) => process.listeners(signal))
let nowMs: number
const kill = vi.spyOn(process, 'kill')

beforeEach(() => {
  nowMs = 0
  kill.mockReset().mockReturnValue(true)
  for (const signal of SIGNALS) process.removeAllListeners(signal)
})
afterEach(() => {
  for (const [i, signal] of SIGNALS.entries()) {
    process.removeAllListeners(signal)
    for (const listener of others[i] ?? []) process.on(signal, listener)
  }
})

it('CLOSE-2: a Ctrl-C that comes twice at once, as under npm, is one', async () => {
  const { signal, done } = untilSignal(() => nowMs)
  process.emit('SIGINT', 'SIGINT')
  await done
  expect(signal.aborted).toBe(true)
  nowMs = 499
  process.emit('SIGINT', 'SIGINT')
  expect(kill).not.toHaveBeenCalled()
  // Node would end the process by a signal that nobody listens to.
  expect(process.listenerCount('SIGINT')).toBe(1)
})

it.each(SIGNALS)('CLOSE-2: a later %s ends the process by that signal', async (second) => {
  const { done } = untilSignal(() => nowMs)
  process.emit('SIGTERM', 'SIGTERM')
  await done
  nowMs = 500
  process.emit(second, second)
  expect(kill.mock.calls).toEqual([[process.pid, second]])
  expect(SIGNALS.map((signal) => process.listenerCount(signal))).toEqual([0, 0])
})
