import type { ProviderRecord } from '@fairlead/client'
import type { ParamsOf, ResultOf } from '@fairlead/protocol'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead providers list`. */
export const providersList = command<{ status?: string }>({
  name: 'providers list',
  summary: 'List providers with their health, leases and workers.',
  options: [
    { flags: '--status <status>', text: 'REGISTERED, ACTIVE, PAUSED, JAILED, SUSPENDED, RETIRED' },
  ],
  needs: 'server',
  examples: [['fairlead providers list --status ACTIVE', 'Who can get work.']],

  async run({ flags, client, print }) {
    const { providersTable } = await import('../show/show-providers.ts')
    const server = await client()
    const filter = (
      flags.status === undefined ? {} : { status: flags.status }
    ) as ParamsOf<'aicf.listProviders'>
    const providers: ProviderRecord[] = []
    let cursor: string | null = null
    do {
      const page: ResultOf<'aicf.listProviders'> = await server.call('aicf.listProviders', {
        ...filter,
        ...(cursor === null ? {} : { cursor }),
        limit: 1_000,
      })
      providers.push(...page.providers)
      cursor = page.cursor
    } while (cursor !== null)
    print(providers, providers.length === 0 ? 'There are none.' : providersTable(providers))
    return EXIT.ok
  },
})
