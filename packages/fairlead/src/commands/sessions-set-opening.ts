import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead sessions set-opening`. */
export const sessionsSetOpening = command({
  name: 'sessions set-opening',
  summary: 'Say when a session opens. Registrations in line move with it, in the same order.',
  args: [
    { name: '<provider>', text: 'the booking site' },
    { name: '<org_ref>', text: 'whose account is used' },
    { name: '<event_id>', text: 'what is booked' },
    { name: '<time>', text: 'with its zone, as 2027-03-01T09:00:00Z, or from now, as 10m' },
  ],
  needs: 'server',
  examples: [
    [
      'fairlead sessions set-opening bookeo org-1 swim-tue-9 2027-03-01T09:00:00+01:00',
      'For operators; everybody else has to name this time then.',
    ],
  ],

  async run({ args, client, print }) {
    const { moment } = await import('../flags/flags.ts')
    const [provider = '', org_ref = '', event_id = '', time = ''] = args
    const opens_at = moment('time', time, Date.now())
    const session = { provider, org_ref, event_id, opens_at }
    const set = await (await client()).call('signup.setOpening', session)
    print(set, `${event_id} of ${org_ref} at ${provider} opens at ${iso(opens_at)}.`)
    return EXIT.ok
  },
})

function iso(at: number): string {
  return new Date(at).toISOString()
}
