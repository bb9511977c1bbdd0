import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead providers set-key`. */
export const providersSetKey = command({
  name: 'providers set-key',
  summary: 'Give a provider another public key. Its attestation ends with the old one.',
  args: [
    { name: '<provider_id>', text: 'as in provider:atlas' },
    { name: '<public_key>', text: 'as fairlead keys show prints it' },
  ],
  needs: 'server',
  examples: [['fairlead providers set-key provider:atlas 0x19ff…', 'For an operator.']],

  async run({ args, client, print }) {
    const [provider_id = '', public_key = ''] = args
    const server = await client()
    const { provider } = await server.call('aicf.updateProvider', { provider_id, public_key })
    print(provider, `${provider.provider_id} proves with ${provider.public_key}.`)
    return EXIT.ok
  },
})
