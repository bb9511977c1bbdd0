import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead jobs show`. */
export const jobsShow = command({
  name: 'jobs show',
  summary: 'Show a job, its result, its errors and everything that happened to it.',
  args: [{ name: '<task_id>', text: 'of the job, or its first 8 or more digits' }],
  needs: 'server',
  examples: [
    ['fairlead jobs show 0x2f1d…', 'For people.'],
    ['fairlead jobs show 0x2f1d… --json', 'Job, result and timeline as the server has them.'],
  ],

  async run({ args, client, print, terminal }) {
    const { jobText } = await import('../show/show-jobs.ts')
    const { resolveTaskId } = await import('../jobs/resolve-task-id.ts')
    const server = await client()
    const task_id = await resolveTaskId(server, args[0] as string)
    const found = await server.getJob(task_id)
    const { entries } = await server.call('aicf.getTimeline', { task_id })
    print({ ...found, timeline: entries }, jobText(found, entries, terminal.colors))
    return EXIT.ok
  },
})
