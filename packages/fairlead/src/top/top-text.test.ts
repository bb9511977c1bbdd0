import { METHODS } from '@fairlead/protocol'
import pc from 'picocolors'
import { expect, it } from 'vitest'
import { topText } from './top-text.ts'

const LOOK = { colors: pc.createColors(false), columns: 80, rows: 40, url: 'http://here' }
const STATS = {
  ...METHODS['stats.get'].example.result,
  verdict: METHODS['stats.verdict'].example.result,
}

it('shows a line for each provider, and no table where there is none', () => {
  const one = {
    provider_id: 'provider:atlas',
    status: 'ACTIVE',
    leases: 1,
    lease_cap: 4,
    health: 1_000,
  }
  const some = topText({ ...STATS, busiest: [one] } as never, [], LOOK).join('\n')
  expect(some).toMatch(/provider +leases +load +health\n.*\nprovider:atlas +1\/4/)
  const none = topText({ ...STATS, providers: {}, busiest: [] } as never, [], LOOK).join('\n')
  expect(none).toContain('providers: none')
  expect(none).not.toContain('health')
})

it('FIGURE-5: says the verdict of the server first, word for word', () => {
  const lines = topText(STATS as never, [], LOOK)
  expect(lines.slice(2, lines.indexOf('', 2)).join(' ')).toBe(STATS.verdict.text)
})
