import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly timezone: string
  readonly count: string
  readonly from?: string
}

/** `fairlead schedules next`: it asks no server, because an expression means the same everywhere. */
export const schedulesNext = command<Flags>({
  name: 'schedules next',
  summary: 'Show the next times of a cron expression.',
  args: [{ name: '<cron>', text: 'as in "0 2 * * MON-FRI"' }],
  options: [
    { flags: '--timezone <name>', text: 'as in Europe/Berlin', default: 'UTC' },
    { flags: '--count <n>', text: 'how many', default: '5' },
    { flags: '--from <time>', text: 'after this time; now if left out' },
  ],
  examples: [
    [
      'fairlead schedules next "30 2 * * *" --timezone Europe/Berlin --from 2026-03-28T00:00:00Z',
      'Also where the clocks change.',
    ],
  ],

  async run({ args, flags, print }) {
    const { nextTimes } = await import('@fairlead/engine')
    const { moment, wholeNumber } = await import('../flags/flags.ts')
    const now = Date.now()
    const fromMs = flags.from === undefined ? now : moment('--from', flags.from, now)
    const count = wholeNumber('--count', flags.count, { min: 1, max: 1_000 })
    const times = nextTimes(args[0] as string, flags.timezone, { fromMs, count })
    const shown = times.map((at) => new Date(at).toISOString())
    print(shown, shown.length === 0 ? 'There is none within five years.' : shown)
    return EXIT.ok
  },
})
