import { expect, it } from 'vitest'
import { escaped } from './escaped.ts'
import { palette } from './terminal.ts'

it('TERMINAL-1: each character that a terminal acts on is escaped, and nothing else', () => {
  const written = 'a\u0000\t\n\r\u001b\u007f\u0085\u009b\u061c\u200e\u200f\u2028\u202e\u2069é漢✓'
  const shown = escaped(written)
  expect(shown).toBe(
    'a\\x00\\t\\n\\r\\x1b\\u007f\\u0085\\u009b\\u061c\\u200e\\u200f\\u2028\\u202e\\u2069é漢✓',
  )
  expect(escaped(shown)).toBe(shown)
  expect(JSON.parse(escaped(JSON.stringify(written)))).toBe(written)
})

it('TERMINAL-1: our colours are drawn, and those of others are not', () => {
  const { colors, drawn } = palette(true)
  const line = colors.bold(`a ${colors.red('b\u001b[31m')} c`)
  expect(drawn(line)).toBe('\u001b[1ma \u001b[31mb\\x1b[31m\u001b[39m c\u001b[22m')
  const other = palette(true)
  expect(drawn(other.colors.bold('x'))).not.toContain('\u001b')
  expect(palette(false).colors.bold('x')).toBe('x')
})
