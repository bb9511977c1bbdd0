import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead payout record`. */
export const payoutRecord = command<{ reference?: string }>({
  name: 'payout record',
  summary: 'Record money that was paid out of an account elsewhere.',
  details:
    'Fairlead keeps the books and moves no money. The same reference again with the same account and amount records nothing more,\n' +
    'so a command that failed can be given again.',
  args: [
    { name: '<account>', text: 'provider:atlas, miner:operator or fund' },
    { name: '<amount>', text: 'whole base units, at most what the account has' },
  ],
  options: [
    { flags: '--reference <text>', text: 'names this payout, such as the number of a transfer' },
  ],
  needs: 'server',
  examples: [
    [
      'fairlead payout record provider:atlas 2000 --reference transfer-2026-0017',
      'For an operator.',
    ],
  ],

  async run({ args, flags, client, print }) {
    const { amountOf, misuse } = await import('../flags/flags.ts')
    const [account = '', written = ''] = args
    const { reference } = flags
    if (reference === undefined) {
      throw misuse('--reference: expected the name of this payout, such as transfer-2026-0017')
    }
    const amount = amountOf('<amount>', written)
    const server = await client()
    const found = await server.call('aicf.recordPayout', { account, amount, reference })
    print(found, `${found.account} has ${found.available} left.`)
    return EXIT.ok
  },
})
