import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead jobs cancel`. */
export const jobsCancel = command({
  name: 'jobs cancel',
  summary: 'Cancel a job. A worker that has it is told to stop; its result will be ignored.',
  args: [{ name: '<task_id>', text: 'of the job, or its first 8 or more digits' }],
  needs: 'server',
  examples: [['fairlead jobs cancel 0x2f1d…', 'Ends with 3 if the job has ended otherwise.']],

  async run({ args, client, print }) {
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
