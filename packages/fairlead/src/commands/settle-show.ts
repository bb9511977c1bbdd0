import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead settle show`. */
export const settleShow = command({
  name: 'settle show',
  summary: 'Show a settled epoch: its totals, and the sums of each provider.',
  args: [{ name: '<epoch>', text: 'number of the epoch' }],
  needs: 'server',
  examples: [['fairlead settle show 490000', 'For an operator or auditor.']],

  async run({ args, client, print }) {
    const { fetchBatch } = await import('../settle/fetch-settlements.ts')
    const { batchText } = await import('../settle/batch-text.ts')
    const { wholeNumber } = await import('../flags/flags.ts')
    const epoch = wholeNumber('<epoch>', args[0] as string)
    const settlement = await fetchBatch(await client(), epoch)
    print(settlement, batchText(settlement))
    return EXIT.ok
  },
})
