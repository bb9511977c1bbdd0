import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead settle close`. */
export const settleClose = command({
  name: 'settle close',
  summary: 'Close an epoch that has ended. The server closes each by itself.',
  args: [{ name: '<epoch>', text: 'number of the epoch' }],
  needs: 'server',
  examples: [['fairlead settle close 490000', 'A closed epoch answers with its batch.']],

  async run({ args, client, print }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { settlementsTable } = await import('../settle/batch-text.ts')
    const epoch_id = wholeNumber('<epoch>', args[0] as string)
    const { settlement } = await (await client()).call('aicf.closeEpoch', { epoch_id })
    const empty = `Epoch ${epoch_id} is closed. Nothing happened in it, so it has no batch.`
    print(settlement, settlement === null ? empty : settlementsTable([settlement]))
    return EXIT.ok
  },
})
