import type { NodeClient } from '@fairlead/client'

/** The model whose requests are few: its jobs wait for their turn while all others go. */
export const SCARCE_MODEL = 'mixtral'
const REQUESTS = `llm:${SCARCE_MODEL}:requests`
const TOKENS = 'llm:tokens-a-minute'
const WINDOW_SECS = 3
/** The jobs of the scarce model take about so many windows, less than the opening makes people wait. */
const WINDOWS = 4
/** One in so many ai jobs is for it. */
const MODELS = 3
const REQUESTS_MIN = 4

/** What each job of the demo needs of the limits. */
export const LIVE_ADMIT = [
  { kind: 'ai', requirements: [{ key: TOKENS, amount: 'tokens' }] },
  { kind: 'ai', model: SCARCE_MODEL, requirements: [{ key: REQUESTS, amount: 1 }] },
] as const

/** Requests for the scarce model in one window. */
export function scarceRequests(perKind: number): number {
  return Math.max(REQUESTS_MIN, Math.ceil(perKind / MODELS / WINDOWS))
}

/** Two budgets: one that is at its limit for a while, and one with room to spare. */
export async function defineLimits(admin: NodeClient, perKind: number): Promise<void> {
  await admin.call('limits.define', {
    limit: {
      ...{ key: REQUESTS, kind: 'rolling', window_seconds: WINDOW_SECS },
      ...{ capacity: scarceRequests(perKind), unit: 'requests' },
    },
  })
  await admin.call('limits.define', {
    limit: {
      ...{ key: TOKENS, kind: 'rolling', window_seconds: 60 },
      ...{ capacity: 100_000 + 1_000 * perKind, unit: 'tokens' },
    },
  })
}
