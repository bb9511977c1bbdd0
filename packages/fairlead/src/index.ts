/** A queue in five lines: in this process, or on a server. */

export { FairleadError } from '@fairlead/core'
export type { AddOptions, Backoff } from './queue/add-options.ts'
export { JobError, PermanentError, RetryAfter } from './queue/errors.ts'
export type { JobEvent, QueueEvent, QueueEventName, QueueEvents } from './queue/events.ts'
export type { Failure, Job, Progress } from './queue/job.ts'
export { openQueue, type QueueOptions, type QueueTarget } from './queue/open-queue.ts'
export type { JobFilter } from './queue/job-filter.ts'
export type {
  NewJob,
  Queue,
  QueueStats,
  ScheduleOptions,
  WorkHandle,
} from './queue/queue.ts'
export type { RunningJob } from './queue/running-job.ts'
export type { ServerAddress } from './queue/server-port.ts'
export type { WorkOptions } from './queue/task-worker.ts'
export type { AnyTasks, DataIn, DataOut, ResultOut, Returned, TaskSchemas } from './queue/tasks.ts'
export type { Duration } from './queue/time.ts'
