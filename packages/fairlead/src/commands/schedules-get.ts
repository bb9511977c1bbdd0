import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead schedules get`. */
export const schedulesGet = command({
  name: 'schedules get',
  summary: 'Show a schedule: its times, its job, and its last job.',
  args: [{ name: '<id>', text: 'of the schedule' }],
  needs: 'server',
  examples: [['fairlead schedules get report', 'One schedule.']],

  async run({ args, client, print }) {
    const { scheduleText } = await import('../show/show-schedules.ts')
    const { schedule } = await (await client()).call('schedules.get', { id: args[0] as string })
    print(schedule, scheduleText(schedule))
    return EXIT.ok
  },
})
