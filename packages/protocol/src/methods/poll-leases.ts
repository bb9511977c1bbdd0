import { KIND_NAMES } from '@fairlead/core'
import { z } from 'zod'
import { ASSIGNMENT, ATLAS } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { assignment, leaseTimes, lostLease, notice } from '../records/lease.ts'
import { leaseId, name, providerId, workerId } from '../wire/leaves.ts'
import { list } from '../wire/list.ts'

/** The longest that one poll is held. */
export const POLL_WAIT_MAX_MS = 30_000

export const pollLeases = defineMethod({
  name: 'aicf.pollLeases',
  summary:
    'Connects a worker and gets it leases: held until there are some, or pushed from then on.',
  description: [
    'With `kinds`, `models` and `platforms` the provider is registered, or takes these from now on. `holds` names the leases that the worker still has; others of its own are given back.',
    'As a poll it is answered as soon as there is anything to say, at the latest after `wait_ms`. The worker takes new leases only while a poll is open; it counts as gone 30 s after its last poll or call.',
    'With `push`, on a WebSocket only, it is answered at once with empty lists; leases then come as `leases.offered`, `leases.held` and `leases.lost`, and a change of `notice` as `leases.notice`, until the socket closes or another session of the same worker takes its place (`leases.closed`).',
  ].join('\n\n'),
  roles: ['provider'],
  access: 'write',
  params: z.strictObject({
    provider_id: providerId.optional().describe('left out: the provider of the token'),
    worker_id: workerId,
    slots: z.int().min(0).max(1_000_000).describe('leases that the worker takes at once'),
    holds: list(leaseId, 100_000).nullable().optional(),
    kinds: list(z.enum(KIND_NAMES), KIND_NAMES.length).optional(),
    models: list(name, 10_000).optional(),
    platforms: list(name, 10_000).optional(),
    wait_ms: z.int().min(0).max(POLL_WAIT_MAX_MS).optional().describe('30,000 if left out'),
    push: z.boolean().optional(),
  }),
  result: z.strictObject({
    leases: z.array(assignment).describe('to be acked'),
    held: z
      .array(leaseTimes)
      .nullable()
      .describe('all that the worker holds, where it has to know'),
    lost: z.array(lostLease),
    notice: notice
      .nullable()
      .describe('why the provider gets no work, and what to do; null: nothing is in its way'),
  }),
  errors: ['LimitExceeded', 'NotFound', 'InvalidState'],
  example: {
    params: {
      provider_id: ATLAS,
      worker_id: 'w-1',
      slots: 4,
      kinds: ['ai'],
      models: ['llama3-8b'],
      wait_ms: 30_000,
    },
    result: { leases: [ASSIGNMENT], held: null, lost: [], notice: null },
  },
})
