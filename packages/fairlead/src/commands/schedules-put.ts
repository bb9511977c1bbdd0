import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import type { EnqueueFlags } from './enqueue.ts'

interface Flags extends EnqueueFlags {
  readonly timezone: string
  readonly overlap: string
  readonly catchUp: string
  readonly paused?: true
}

/** `fairlead schedules put`. */
export const schedulesPut = command<Flags>({
  name: 'schedules put',
  summary: 'Enqueue a job by the clock; an id that is there already is replaced.',
  details:
    'The job is given as for fairlead enqueue. A cron expression has minute, hour, day, month and weekday; a sixth\n' +
    'field in front is the second. With --overlap skip a time is left out while the last job is live. --catch-up says\n' +
    'which times are made up for after downtime: none, last, or all, the newest 100 at most.',
  args: [
    { name: '<id>', text: 'of the schedule' },
    { name: '<cron>', text: 'as in "0 2 * * MON-FRI"' },
    { name: '<kind>', text: 'task, ai or quantum' },
    { name: '<name>', text: 'name of the task, model, or file with the circuit' },
    { name: '[input]', text: 'arguments of the task, or prompt' },
  ],
  options: [
    { flags: '--timezone <name>', text: 'as in Europe/Berlin', default: 'UTC' },
    { flags: '--overlap <way>', text: 'allow or skip', default: 'allow' },
    { flags: '--catch-up <way>', text: 'none, last or all', default: 'last' },
    { flags: '--paused', text: 'it does not fire until it is put without this' },
    { flags: '--max-tokens <n>', text: 'ai: tokens that may be generated', default: '256' },
    { flags: '--temperature <x>', text: 'ai: 0 to 2' },
    { flags: '--shots <n>', text: 'quantum: how often to run the circuit', default: '1000' },
    { flags: '--fee <n>', text: 'highest fee' },
    { flags: '--region <name>', text: 'where it may run; can be repeated', many: true },
    { flags: '--ttl <time>', text: 'how long each job may take in all, such as 10m' },
  ],
  needs: 'server',
  examples: [
    [
      `fairlead schedules put report "0 2 * * *" task report '{"kind": "sales"}'`,
      'Every night at two, UTC.',
    ],
  ],

  async run({ args, flags, client, print }) {
    const { oneRequest } = await import('../jobs/enqueue-requests.ts')
    const { oneOfWords } = await import('../flags/flags.ts')
    const { scheduleText } = await import('../show/show-schedules.ts')
    const [id, cron, ...job] = args as [string, string, ...string[]]
    const schedule = await (await client()).putSchedule({
      id,
      cron,
      timezone: flags.timezone,
      overlap: oneOfWords('--overlap', flags.overlap, ['allow', 'skip'] as const),
      catch_up: oneOfWords('--catch-up', flags.catchUp, ['none', 'last', 'all'] as const),
      paused: flags.paused === true,
      request: oneRequest(job, flags),
    })
    print(schedule, scheduleText(schedule))
    return EXIT.ok
  },
})
