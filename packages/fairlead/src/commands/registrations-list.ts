import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly provider?: string
  readonly org?: string
  readonly event?: string
  readonly limit: string
}

/** `fairlead registrations list`. */
export const registrationsList = command<Flags>({
  name: 'registrations list',
  summary: 'List registrations with what became of them, in the order in which they came.',
  options: [
    { flags: '--provider <name>', text: 'at this booking site' },
    { flags: '--org <ref>', text: 'of this organisation' },
    { flags: '--event <id>', text: 'for this event' },
    { flags: '--limit <n>', text: 'how many at most', default: '50' },
  ],
  needs: 'server',
  examples: [
    ['fairlead registrations list', 'All that you may see.'],
    ['fairlead registrations list --event swim-tue-9 --json', 'Those of one event, for a program.'],
  ],

  async run({ flags, client, print, warn }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { registrationsTable } = await import('../show/show-registrations.ts')
    const limit = wholeNumber('--limit', flags.limit, { min: 1, max: 1_000_000 })
    const filter = {
      ...(flags.provider === undefined ? {} : { provider: flags.provider }),
      ...(flags.org === undefined ? {} : { org_ref: flags.org }),
      ...(flags.event === undefined ? {} : { event_id: flags.event }),
      limit: Math.min(limit, 1_000),
    }
    const found = []
    for await (const one of (await client()).listRegistrations(filter)) {
      found.push(one)
      if (found.length === limit) break
    }
    print(found, found.length === 0 ? 'There are none.' : registrationsTable(found))
    if (found.length === limit) warn(`The first ${limit}; see --limit.`)
    return EXIT.ok
  },
})
