import { z } from 'zod'
import { leaseId, providerId, workerId } from '../wire/leaves.ts'

/** Who acts on which lease; a call of a worker names it, so that no other takes its place. */
export const leaseCallFields = {
  lease_id: leaseId,
  provider_id: providerId.optional().describe('left out: the provider of the token'),
  worker_id: workerId.optional().describe('left out: any worker of the provider'),
}

/** The answer to a call that has nothing more to say. */
export const accepted = z.strictObject({ accepted: z.literal(true) })
