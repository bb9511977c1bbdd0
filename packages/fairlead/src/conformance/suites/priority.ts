import { FairleadError } from '@fairlead/core'
import { scoreAt, WaitingQueue } from '@fairlead/core/internal'
import { type Json, suite } from '../suite.ts'
import { FUND, priorityPolicy } from '../vector-policy.ts'
import { vectorJob } from './jobs.ts'

/** §5: the score, and the order in which the score queue gives jobs out. */
export const priority = suite(({ policy, now, jobs }) => {
  let read: typeof FUND.priority
  try {
    read = priorityPolicy(policy)
  } catch (error) {
    if (error instanceof FairleadError) return { error: 'configuration' }
    throw error
  }
  const queue = new WaitingQueue({ ...FUND, priority: read }, now)
  for (const job of jobs) queue.push(vectorJob(job))
  const order: Json[] = []
  for (let job = queue.popBest(now); job !== undefined; job = queue.popBest(now)) {
    order.push({ job_id: job.id, score: String(scoreAt(job, now, read)) })
  }
  return { order }
})
