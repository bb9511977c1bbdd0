import type { Job } from '@fairlead/core'
import { WaitingQueue } from '@fairlead/core/internal'
import { type Json, suite } from '../suite.ts'
import { vectorPolicy } from '../vector-policy.ts'
import { vectorJob } from './jobs.ts'

/** §7.6: fair shares between tenants on one queue. */
export const fair = suite(({ policy: given = {}, steps }) => {
  const base = vectorPolicy(given)
  const policy = { ...base, match: { ...base.match, fairness: 'tenant' as const } }
  const queue = new WaitingQueue(policy, 0)
  const jobs = new Map<string, Job>()
  const ops: Readonly<Record<string, (step: Json) => Json>> = {
    enqueue(step) {
      for (const json of step.jobs) {
        const job = vectorJob(json)
        jobs.set(job.id, job)
        queue.push(job)
      }
    },
    round({ now, batch_size, slots }) {
      const batch = queue.takeBatch(now, batch_size, () => 'take')
      const assigned = batch.jobs.slice(0, slots)
      queue.closeBatch(batch, assigned)
      return { batch: batch.jobs.map(({ id }) => id), assigned: assigned.map(({ id }) => id) }
    },
    settle({ job_id, actual_units }) {
      queue.bookActualUnits(jobs.get(job_id) as Job, actual_units)
    },
  }
  return {
    steps: steps.map((step: Json, i: number) => {
      const op = ops[step.op]
      if (op === undefined) throw new TypeError(`steps[${i}].op: unknown op ${step.op}`)
      return { ...op(step), state: shownState(queue) }
    }),
  }
})

function shownState(queue: WaitingQueue): Json {
  const { virtual, finish } = queue.state().fair
  const callers = [...finish].map(([caller, at]) => [caller, at.toString()])
  return { virtual: virtual.toString(), callers: Object.fromEntries(callers) }
}
