import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead sessions watch`: an opening as it happens. */
export const sessionsWatch = command<{ readonly interval: string }>({
  name: 'sessions watch',
  summary: 'Watch a session, a line at a time, until it is open and nobody is left in it.',
  args: [
    { name: '<provider>', text: 'the booking site' },
    { name: '<org_ref>', text: 'whose account is used' },
    { name: '<event_id>', text: 'what is booked' },
  ],
  options: [{ flags: '--interval <time>', text: 'time between two looks', default: '1s' }],
  needs: 'server',
  examples: [
    ['fairlead sessions watch bookeo org-1 swim-tue-9', 'Until everybody is through, or Ctrl-C.'],
    ['fairlead sessions watch bookeo org-1 swim-tue-9 --json', 'One JSON object a line.'],
  ],

  async run({ args, flags, client, isJson, terminal }) {
    const { duration } = await import('../flags/flags.ts')
    const { sessionLine } = await import('../show/show-sessions.ts')
    const { untilSignal } = await import('../terminal/until-signal.ts')
    const [provider = '', org_ref = '', event_id = ''] = args
    const intervalMs = Math.max(100, duration('--interval', flags.interval))
    const server = await client()
    const stop = untilSignal()
    while (!stop.signal.aborted) {
      const look = await server.getSession({ provider, org_ref, event_id })
      const { is_open, waiting, in_flight } = look.session
      terminal.out(isJson ? JSON.stringify(look) : sessionLine(look, Date.now()))
      if (is_open && waiting + in_flight === 0) break
      await Promise.race([pause(intervalMs), stop.done])
    }
    return EXIT.ok
  },
})

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
