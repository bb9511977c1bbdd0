/** For tests of programs that use a queue. */

export { type QueueMatchers, queueMatchers } from './matchers.ts'
export { openTestQueue, type TestQueue, type TestQueueOptions } from './test-queue.ts'
