import type { EnqueueRequest } from '@fairlead/client'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { JOB_FILTER_OPTIONS } from '../flags/job-filter-options.ts'
import type { ManyFlags } from '../jobs/many-jobs.ts'

/** `fairlead jobs retry`: an ended job never changes, so its work is taken up by another. */
export const jobsRetry = command<ManyFlags>({
  name: 'jobs retry',
  summary: 'Enqueue the work of an ended job again, as a new job that names the old one.',
  details:
    'The old job stays as it ended, so the same filter again retries it again. Give --since or --tag to keep out what was\n' +
    'retried before, or look at retry_of.',
  args: [{ name: '[task_id]', text: 'of the job that ended, or its first 8 or more digits' }],
  options: [
    ...JOB_FILTER_OPTIONS,
    { flags: '--limit <n>', text: 'with a filter: the most jobs to touch' },
    { flags: '--dry-run', text: 'with a filter: only count the jobs' },
  ],
  needs: 'server',
  examples: [
    ['fairlead jobs retry 0x2f1d…', 'Print the id of the new job.'],
    ['fairlead jobs retry --status FAILED --kind ai', 'Enqueue all failed ai jobs again.'],
  ],

  async run({ args, flags, client, print, isJson, terminal }) {
    const { actOnMany, isMany } = await import('../jobs/many-jobs.ts')
    if (isMany(args, flags)) {
      return actOnMany('retry', await client(), { flags, print, isJson, terminal })
    }
    const { misuse } = await import('../flags/flags.ts')
    const { resolveTaskId } = await import('../jobs/resolve-task-id.ts')
    const server = await client()
    const { job } = await server.getJob(await resolveTaskId(server, args[0] as string))
    const { kind, task_id, status, request } = job
    if (status === 'QUEUED' || status === 'ASSIGNED' || status === 'RUNNING') {
      throw misuse(`${task_id} is ${status}; wait for its end, or cancel it first`)
    }
    if (kind === 'registration') {
      throw misuse(`${task_id} is a registration; see fairlead registrations schedule`)
    }
    const { payload, max_fee_u64, regions, ttl_abs_secs, options } = request
    // The jobs that it depended on have ended, and so has its time.
    const { depends_on: _after, on_dependency: _fails, run_at: _time, ...same } = options ?? {}
    const receipt = await server.enqueue({
      kind,
      payload,
      max_fee_u64,
      regions,
      ttl_abs_secs,
      ...same,
      retry_of: task_id,
    } as unknown as EnqueueRequest)
    print(receipt, receipt.task_id)
    return EXIT.ok
  },
})
