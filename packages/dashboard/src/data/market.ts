import { useLive } from './live.ts'
import { may } from './rights.ts'

/** Whether this server is a market, with stake, proofs and settlement. A plain queue never hears these words. */
export function useMarket(): boolean {
  const params = may('policy.describe') ? {} : null
  const { data } = useLive('policy.describe', params, { everyMs: 0, on: ['policyChanged'] })
  return data?.preset === 'fund'
}
