/** What serves leases, over any `LeaseSource`. */

export type { Job } from './attempt.ts'
export { PermanentFailure } from './failure.ts'
export type { JobResult } from './result.ts'
export { type Handler, type Worker, type WorkerOptions, worker } from './worker.ts'
