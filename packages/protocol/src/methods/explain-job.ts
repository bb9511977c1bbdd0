import { z } from 'zod'
import { AT, ATLAS, DIGEST, LEASE, SEED, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { explanation } from '../records/explanation.ts'
import { taskId } from '../wire/leaves.ts'

export const explainJob = defineMethod({
  name: 'aicf.explainJob',
  summary: 'Why a job waits; or, once assigned, why it went where it went, and how it ended.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ task_id: taskId }),
  result: explanation,
  errors: ['NotFound'],
  example: {
    params: { task_id: TASK_ID },
    result: {
      task_id: TASK_ID,
      status: 'RUNNING',
      at: AT,
      wait_reason: null,
      text: 'Job 0x2f1d…9c41 is RUNNING …',
      waiting: null,
      attempts: [
        {
          lease: LEASE,
          ended: null,
          round: {
            height: 41,
            at: AT,
            seed: SEED,
            batch_digest: DIGEST,
            batch_size: 1,
            order: 'first-fit',
            providers: ['provider:borea', ATLAS],
            place: 2,
            passed_over: [{ provider_id: 'provider:borea', refusal: 'lease_cap_reached' }],
          },
        },
      ],
      attempts_before: 0,
      end: null,
    },
  },
})
