import type { LimitRecord, ResultOf } from '@fairlead/protocol'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead limits list`. */
export const limitsList = command({
  name: 'limits list',
  summary: 'List limits with what is held of each.',
  needs: 'server',
  examples: [['fairlead limits list', 'All of them, in order of key.']],

  async run({ client, print }) {
    const { limitsTable } = await import('../show/show-limits.ts')
    const server = await client()
    const limits: LimitRecord[] = []
    let cursor: string | null = null
    do {
      const page: ResultOf<'limits.list'> = await server.call('limits.list', {
        ...(cursor === null ? {} : { cursor }),
        limit: 1_000,
      })
      limits.push(...page.limits)
      cursor = page.cursor
    } while (cursor !== null)
    print(limits, limits.length === 0 ? 'There are none.' : limitsTable(limits))
    return EXIT.ok
  },
})
