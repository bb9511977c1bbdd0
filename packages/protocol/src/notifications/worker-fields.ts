import { providerId, workerId } from '../wire/leaves.ts'

/** Whom a message is for: one socket may carry several workers. */
export const workerFields = { provider_id: providerId, worker_id: workerId }
