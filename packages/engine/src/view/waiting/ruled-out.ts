import type { Market } from '@fairlead/core'
import { leaseCap } from '@fairlead/core/internal'
import type { Check } from '../../explain/verdict.ts'
import { type Blocker, isHoldUp } from './blockers.ts'

/** What could hold work up, and does not. */
export function ruledOut(market: Market, blockers: readonly Blocker[], at: number): Check[] {
  const { pool, pauses, policy } = market
  const reasons = new Set(
    blockers.filter((one) => isHoldUp(one, at)).map(({ hold }) => hold.check ?? hold.reason),
  )
  const checks: Check[] = []
  if (pauses.isEmpty) checks.push({ check: 'pauses', text: 'No queue is paused.' })
  if (!reasons.has('limit_exhausted') && !reasons.has('budget')) {
    checks.push({ check: 'limits', text: 'No limit holds work up.' })
  }
  if (!reasons.has('backoff')) {
    checks.push({ check: 'failures', text: 'No failed job has been waiting long for its retry.' })
  }
  let active = 0
  let slots = 0
  let taken = 0
  const providers = pool.all()
  for (const provider of providers) {
    if (provider.status !== 'ACTIVE') continue
    active++
    slots += leaseCap(provider, policy)
    taken += provider.liveLeases
  }
  const isOutOfAction = providers.some(
    ({ status }) => status !== 'ACTIVE' && status !== 'RETIRED' && status !== 'REGISTERED',
  )
  if (active > 0 && !isOutOfAction) {
    const all = active === 1 ? 'The only provider is active' : `All ${active} providers are active`
    checks.push({ check: 'providers', text: `${all}.` })
  }
  if (taken < slots && !reasons.has('lease_cap_reached')) {
    const free = (slots - taken).toLocaleString('en')
    checks.push({
      check: 'slots',
      text: `${free} of ${slots.toLocaleString('en')} slots are free.`,
    })
  }
  return checks
}
