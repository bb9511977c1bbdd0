import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead jobs show`. */
export const jobsShow = command({
  name: 'jobs show',
  summary: 'Show a job, its result and all that happened to it.',
  args: [{ name: '<task_id>', text: 'of the job' }],
  needs: 'server',
  examples: [
    ['fairlead jobs show 0x2f1d…', 'For people.'],
    ['fairlead jobs show 0x2f1d… --json', 'Job, result and timeline as the server has them.'],
  ],

  async run({ args, client, print, terminal }) {
    const { jobText } = await import('../show-jobs.ts')
    const task_id = args[0] as string
    const server = await client()
    const found = await server.getJob(task_id)
    const { entries } = await server.call('aicf.getTimeline', { task_id })
    print({ ...found, timeline: entries }, jobText(found, entries, terminal.colors))
    return EXIT.ok
  },
})
