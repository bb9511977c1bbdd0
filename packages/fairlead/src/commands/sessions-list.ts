import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly provider?: string
  readonly org?: string
}

/** `fairlead sessions list`. */
export const sessionsList = command<Flags>({
  name: 'sessions list',
  summary: 'List sessions by their opening, with how many are in each.',
  options: [
    { flags: '--provider <name>', text: 'of this booking site' },
    { flags: '--org <ref>', text: 'of this organisation' },
  ],
  needs: 'server',
  examples: [
    ['fairlead sessions list', 'All that you may see.'],
    ['fairlead sessions list --provider bookeo --json', 'Those of one site, for a program.'],
  ],

  async run({ flags, client, print }) {
    const { sessionsTable } = await import('../show/show-sessions.ts')
    const { sessions } = await (await client()).call('signup.listSessions', {
      ...(flags.provider === undefined ? {} : { provider: flags.provider }),
      ...(flags.org === undefined ? {} : { org_ref: flags.org }),
    })
    print(sessions, sessions.length === 0 ? 'There are none.' : sessionsTable(sessions, Date.now()))
    return EXIT.ok
  },
})
