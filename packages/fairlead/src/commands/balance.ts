import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead balance`. */
export const balance = command({
  name: 'balance',
  summary: 'Show an account of the fund: what it has, its stake, and what is due.',
  args: [
    {
      name: '[account]',
      text: 'provider:atlas, miner:operator, fund, issuance or external; a provider’s own if left out',
    },
  ],
  needs: 'server',
  examples: [
    ['fairlead balance', 'For a provider: its own account.'],
    ['fairlead balance fund', 'For an operator or auditor.'],
  ],

  async run({ args, client, print }) {
    const { balanceText } = await import('../show/show-balance.ts')
    const [account] = args
    const asked = account === undefined ? {} : { account }
    const found = await (await client()).call('aicf.getBalance', asked)
    print(found, balanceText(found))
    return EXIT.ok
  },
})
