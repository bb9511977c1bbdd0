import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly opens: string
  readonly args: string
  readonly program?: string
  readonly key?: string
}

/** `fairlead registrations schedule`. */
export const registrationsSchedule = command<Flags>({
  name: 'registrations schedule',
  summary: 'Put somebody into the line for a session, and print what the person is told.',
  details:
    'All who are in the line of a session name the same opening; the first one says when it is, unless an operator has.\n' +
    'Others on this machine can see what is written on a command line: --args - reads it from standard input.',
  args: [
    { name: '<provider>', text: 'the booking site' },
    { name: '<org_ref>', text: 'whose account is used' },
    { name: '<event_id>', text: 'what is booked' },
    { name: '<user_id>', text: 'who is registered' },
  ],
  options: [
    {
      flags: '--opens <time>',
      text: 'with its zone, as 2027-03-01T09:00:00Z, or from now, as 10m; as the session is known if left out',
      default: '',
    },
    { flags: '--args <json>', text: 'what the site wants to know; - reads it', default: '{}' },
    { flags: '--program <name>', text: 'what texts call the session' },
    { flags: '--key <text>', text: 'idempotency key: the same one again adds nothing' },
  ],
  needs: 'server',
  examples: [
    [
      `fairlead registrations schedule bookeo org-1 swim-tue-9 user-17 --opens 2027-03-01T09:00:00+01:00 --args '{"child": "Kim"}'`,
      'One person for one session.',
    ],
    [
      'fairlead registrations schedule bookeo org-1 swim-tue-9 user-18 --args - < kim.json',
      'Into the line of a session that is known.',
    ],
  ],

  async run({ args, flags, client, print }) {
    const { jsonObject, moment } = await import('../flags/flags.ts')
    const { inputOf } = await import('../flags/read-input.ts')
    const [provider = '', org_ref = '', event_id = '', user_id = ''] = args
    const session = { provider, org_ref, event_id }
    const given = jsonObject('--args', inputOf(flags.args))
    const server = await client()
    const opens_at =
      flags.opens === ''
        ? (await server.getSession(session)).session.opens_at
        : moment('--opens', flags.opens, Date.now())
    const receipt = await server.schedule({
      ...session,
      ...{ user_id, opens_at, args: given },
      ...(flags.program === undefined ? {} : { program_name: flags.program }),
      ...(flags.key === undefined ? {} : { idempotency_key: flags.key }),
    })
    print(receipt, [...receipt.confirmation.split('\n'), receipt.next])
    return EXIT.ok
  },
})
