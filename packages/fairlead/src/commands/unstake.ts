import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead unstake`. */
export const unstake = command({
  name: 'unstake',
  summary: 'Take out a part of the stake of a provider.',
  details:
    'It counts no longer at once, and is paid by the first close after registry.unstake_delay_secs. Until then it can be slashed.',
  args: [
    { name: '<provider_id>', text: 'as in provider:atlas' },
    { name: '<amount>', text: 'whole base units, at most the stake' },
  ],
  needs: 'server',
  examples: [['fairlead unstake provider:atlas 10000', 'For the provider, or an operator.']],

  async run({ args, client, print }) {
    const { amountOf } = await import('../flags/flags.ts')
    const [provider_id = '', written = ''] = args
    const amount_u64 = amountOf('<amount>', written)
    const found = await (await client()).call('aicf.unstake', { provider_id, amount_u64 })
    const when = new Date(found.matures_at).toISOString()
    print(found, [
      `${found.provider_id} has a stake of ${found.stake_u64} left.`,
      `${written} can be slashed until ${when}, and is paid by the first close from then on.`,
    ])
    return EXIT.ok
  },
})
