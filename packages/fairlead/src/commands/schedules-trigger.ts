import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead schedules trigger`. */
export const schedulesTrigger = command({
  name: 'schedules trigger',
  summary: 'Enqueue the job of a schedule now; its times stay as they are.',
  args: [{ name: '<id>', text: 'of the schedule' }],
  needs: 'server',
  examples: [['fairlead schedules trigger report', 'Print the id of the job.']],

  async run({ args, client, print }) {
    const task_id = await (await client()).triggerSchedule(args[0] as string)
    print({ task_id }, task_id)
    return EXIT.ok
  },
})
