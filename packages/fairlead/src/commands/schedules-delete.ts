import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead schedules delete`. */
export const schedulesDelete = command({
  name: 'schedules delete',
  summary: 'Delete a schedule. Jobs that it has enqueued stay.',
  args: [{ name: '<id>', text: 'of the schedule' }],
  needs: 'server',
  examples: [['fairlead schedules delete report', 'It fires no more.']],

  async run({ args, client, print }) {
    const id = args[0] as string
    const { deleted } = await (await client()).call('schedules.delete', { id })
    print({ id, deleted }, deleted ? `${id} is deleted.` : `There is no schedule ${id}.`)
    return deleted ? EXIT.ok : EXIT.refused
  },
})
