import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead stake`. */
export const stake = command({
  name: 'stake',
  summary: 'Add to the stake of a provider. Its money has come in elsewhere.',
  args: [
    { name: '<provider_id>', text: 'as in provider:atlas' },
    { name: '<amount>', text: 'whole base units' },
  ],
  needs: 'server',
  examples: [['fairlead stake provider:atlas 50000', 'For an operator.']],

  async run({ args, client, print }) {
    const { amountOf } = await import('../flags/flags.ts')
    const [provider_id = '', written = ''] = args
    const amount_u64 = amountOf('<amount>', written)
    const found = await (await client()).call('aicf.stake', { provider_id, amount_u64 })
    print(found, `${found.provider_id} has a stake of ${found.stake_u64}.`)
    return EXIT.ok
  },
})
