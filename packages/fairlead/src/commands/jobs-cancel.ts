import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { JOB_FILTER_OPTIONS } from '../flags/job-filter-options.ts'
import type { ManyFlags } from '../jobs/many-jobs.ts'

/** `fairlead jobs cancel`. */
export const jobsCancel = command<ManyFlags>({
  name: 'jobs cancel',
  summary: 'Cancel a job. A worker that has it is told to stop; its result will be ignored.',
  args: [{ name: '[task_id]', text: 'of the job, or its first 8 or more digits' }],
  options: [
    ...JOB_FILTER_OPTIONS,
    { flags: '--limit <n>', text: 'with a filter: the most jobs to touch' },
    { flags: '--dry-run', text: 'with a filter: only count the jobs' },
  ],
  needs: 'server',
  examples: [
    ['fairlead jobs cancel 0x2f1d…', 'Ends with 3 if the job has ended otherwise.'],
    [
      'fairlead jobs cancel --status QUEUED --name resize --dry-run',
      'Count what would be cancelled.',
    ],
  ],

  async run({ args, flags, client, print, isJson, terminal }) {
    const { actOnMany, isMany } = await import('../jobs/many-jobs.ts')
    if (isMany(args, flags)) {
      return actOnMany('cancel', await client(), { flags, print, isJson, terminal })
    }
    const { resolveTaskId } = await import('../jobs/resolve-task-id.ts')
    const server = await client()
    const task_id = await resolveTaskId(server, args[0] as string)
    const status = await server.cancel(task_id)
    const isNoted = status !== 'CANCELED'
    print(
      { task_id, status },
      `${task_id} is ${status}.${isNoted ? ' Its cancel is noted until the attempt under way has ended.' : ''}`,
    )
    return EXIT.ok
  },
})
