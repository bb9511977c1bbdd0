import { METHODS } from '@fairlead/protocol'
import pc from 'picocolors'
import { expect, it } from 'vitest'
import { topText } from './top-text.ts'

const LOOK = { colors: pc.createColors(false), columns: 80, rows: 40, url: 'http://here' }
const STATS = METHODS['stats.get'].example.result

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
