import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead providers show`. */
export const providersShow = command({
  name: 'providers show',
  summary: 'Show a provider: what it offers, how it fares, who works for it.',
  args: [{ name: '<provider_id>', text: 'as in provider:atlas' }],
  needs: 'server',
  examples: [['fairlead providers show provider:atlas', 'One provider with its workers.']],

  async run({ args, client, print }) {
    const { providerText } = await import('../show/show-providers.ts')
    const provider_id = args[0] as string
    const { provider } = await (await client()).call('aicf.getProvider', { provider_id })
    print(provider, providerText(provider))
    return EXIT.ok
  },
})
