import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead settle list`. */
export const settleList = command<{ limit: string }>({
  name: 'settle list',
  summary: 'List settled epochs, the newest first.',
  options: [{ flags: '--limit <n>', text: 'how many', default: '20' }],
  needs: 'server',
  examples: [['fairlead settle list --limit 5', 'The last five epochs that have a batch.']],

  async run({ flags, client, print }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { listedSettlements } = await import('../settle/fetch-settlements.ts')
    const { settlementsTable } = await import('../settle/batch-text.ts')
    const limit = wholeNumber('--limit', flags.limit, { min: 1 })
    const found = await listedSettlements(await client(), limit)
    print(found, found.length === 0 ? 'No epoch has been settled.' : settlementsTable(found))
    return EXIT.ok
  },
})
