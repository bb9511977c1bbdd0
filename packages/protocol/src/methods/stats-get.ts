import { z } from 'zod'
import { AT, ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { stats } from '../records/stats.ts'

export const statsGet = defineMethod({
  name: 'stats.get',
  summary: 'How full the queues are, how fast they move, and who works.',
  roles: ['operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: stats,
  errors: [],
  example: {
    params: {},
    result: {
      at: AT,
      version: '0.1.0',
      started_at: AT - 60_000,
      queues: [
        {
          ...{ kind: 'ai', ready: 3, backoff: 1, budget: 0, no_provider: 0, paused: 0 },
          ...{ not_open: 0, pacing: 0, oldest_wait_ms: 1_250 },
        },
      ],
      leases: 1,
      providers: { REGISTERED: 0, ACTIVE: 1, JAILED: 0, SUSPENDED: 0, RETIRED: 0, PAUSED: 0 },
      busiest: [{ provider_id: ATLAS, leases: 1, lease_cap: 4, health: 1_000 }],
      workers: 1,
      totals: {
        enqueued: 17,
        assigned: 14,
        completed: 13,
        failed: 0,
        expired: 0,
        canceled: 0,
        requeued: 1,
      },
      per_second: { enqueued: 1.5, assigned: 1.4, completed: 1.3 },
      fairness: 0.97,
      connections: { websocket: 2, polls: 0 },
      heap: {
        ...{ limit_bytes: 4_345_298_944, used_bytes: 61_341_696 },
        ...{ live_bytes: 48_234_496, live_max_bytes: 1_086_324_736 },
      },
      storage: { log_bytes: 33_554_432, log_batches: 12, behind_changes: 3 },
    },
  },
})
