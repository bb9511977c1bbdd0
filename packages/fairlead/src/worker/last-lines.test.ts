import { expect, it } from 'vitest'
import { LastLines } from './last-lines.ts'

function lastOf(...chunks: (string | Uint8Array)[]): string {
  const lines = new LastLines()
  for (const chunk of chunks) lines.add(Buffer.from(chunk))
  return lines.text()
}

it('FAIL-1: of a short text all is kept, without line ends at its end', () => {
  expect(lastOf()).toBe('')
  expect(lastOf('a\n', 'b', 'c\n\n')).toBe('a\nbc')
})

it('FAIL-1: of a long text the last whole lines are kept', () => {
  const line = `${'x'.repeat(99)}\n`
  expect(lastOf(...Array(1_000).fill(line))).toBe(
    line
      .repeat(41)
      .slice(0, -1)
      .slice(-4_099 + 100),
  )
  expect(lastOf('first\n', `${'y'.repeat(4_096)}\n`)).toBe('y'.repeat(4_096))
})

it('FAIL-1: of a line that is longer than all that fits its end is kept, in whole characters', () => {
  const text = lastOf(`${'ä'.repeat(5_000)}!`)
  expect(text).toMatch(/^ä+!$/)
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096)
})

it('FAIL-1: bytes that are no text take no more room than text', () => {
  const text = lastOf(new Uint8Array(6_000).fill(0xff), '\nlast')
  expect(text).toBe('last')
  expect(Buffer.byteLength(lastOf(new Uint8Array(6_000).fill(0xff)))).toBeLessThanOrEqual(4_096)
})
