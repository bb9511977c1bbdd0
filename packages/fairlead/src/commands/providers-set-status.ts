import type { ParamsOf } from '@fairlead/protocol'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead providers set-status`. */
export const providersSetStatus = command({
  name: 'providers set-status',
  summary: 'Set the status of a provider. Who may not work loses its leases, uncharged.',
  args: [
    { name: '<provider_id>', text: 'as in provider:atlas' },
    { name: '<status>', text: 'ACTIVE, PAUSED, JAILED, SUSPENDED or RETIRED, which is for good' },
  ],
  needs: 'server',
  examples: [
    ['fairlead providers set-status provider:atlas SUSPENDED', 'Give it no work for now.'],
    ['fairlead providers set-status provider:atlas ACTIVE', 'Bring it back.'],
  ],

  async run({ args, client, print }) {
    const [provider_id, status] = args as [string, ParamsOf<'aicf.setProviderStatus'>['status']]
    const server = await client()
    const { provider } = await server.call('aicf.setProviderStatus', { provider_id, status })
    print(provider, `${provider.provider_id} is ${provider.status}.`)
    return EXIT.ok
  },
})
