import type { ResultOf, ScheduleRecord } from '@fairlead/protocol'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead schedules list`. */
export const schedulesList = command({
  name: 'schedules list',
  summary: 'List schedules with their next and last times.',
  needs: 'server',
  examples: [['fairlead schedules list', 'All that the token may see.']],

  async run({ client, print }) {
    const { schedulesTable } = await import('../show/show-schedules.ts')
    const server = await client()
    const schedules: ScheduleRecord[] = []
    let cursor: string | null = null
    do {
      const page: ResultOf<'schedules.list'> = await server.call('schedules.list', {
        ...(cursor === null ? {} : { cursor }),
        limit: 1_000,
      })
      schedules.push(...page.schedules)
      cursor = page.cursor
    } while (cursor !== null)
    print(schedules, schedules.length === 0 ? 'There are none.' : schedulesTable(schedules))
    return EXIT.ok
  },
})
