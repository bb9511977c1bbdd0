import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead sessions show`. */
export const sessionsShow = command<{ readonly limit: string }>({
  name: 'sessions show',
  summary: 'Show a session: its queue with ranks, and what its organisation may send.',
  args: [
    { name: '<provider>', text: 'the booking site' },
    { name: '<org_ref>', text: 'whose account is used' },
    { name: '<event_id>', text: 'what is booked' },
  ],
  options: [{ flags: '--limit <n>', text: 'entries of the queue', default: '20' }],
  needs: 'server',
  examples: [['fairlead sessions show bookeo org-1 swim-tue-9', 'One session.']],

  async run({ args, flags, client, print }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { sessionText } = await import('../show/show-sessions.ts')
    const [provider = '', org_ref = '', event_id = ''] = args
    const limit = wholeNumber('--limit', flags.limit, { min: 1, max: 1_000 })
    const session = await (await client()).getSession({ provider, org_ref, event_id, limit })
    print(session, sessionText(session, Date.now()))
    return EXIT.ok
  },
})
