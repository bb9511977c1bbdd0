import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { JOB_FILTER_OPTIONS, type JobFilterFlags } from '../flags/job-filter-options.ts'

interface Flags extends JobFilterFlags {
  readonly limit: string
  readonly oldest?: true
}

/** Width of the table where it goes to no screen. */
const COLUMNS = 100

/** `fairlead jobs list`. */
export const jobsList = command<Flags>({
  name: 'jobs list',
  summary: 'List jobs, the newest first.',
  options: [
    ...JOB_FILTER_OPTIONS,
    { flags: '--limit <n>', text: 'how many at most', default: '50' },
    { flags: '--oldest', text: 'the oldest first' },
  ],
  needs: 'server',
  examples: [
    ['fairlead jobs list --status QUEUED --oldest', 'What waits, the longest waiting first.'],
    ['fairlead jobs list --name email', 'Tasks called email.'],
    ['fairlead jobs list --error oom --since 1h', 'Jobs that failed with oom in the last hour.'],
    ['fairlead jobs list --wait-reason scheduled', 'Jobs that wait for their time.'],
    ['fairlead jobs list --status FAILED --kind ai --json', 'What failed, for a program.'],
  ],

  async run({ flags, client, print, terminal, warn }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { jobFilterOf } = await import('../flags/job-filter-flags.ts')
    const { jobsTable } = await import('../show/show-jobs.ts')
    const limit = wholeNumber('--limit', flags.limit, { min: 1, max: 1_000_000 })
    const filter = {
      ...jobFilterOf(flags, Date.now()),
      order: flags.oldest === true ? 'oldest' : 'newest',
      limit: Math.min(limit, 1_000),
    } as const
    const jobs = []
    for await (const job of (await client()).listJobs(filter)) {
      jobs.push(job)
      if (jobs.length === limit) break
    }
    const columns = terminal.screen?.columns ?? COLUMNS
    const shown = { nowMs: Date.now(), columns }
    print(jobs, jobs.length === 0 ? 'There are none.' : jobsTable(jobs, shown))
    if (jobs.length === limit) warn(`The first ${limit}; see --limit.`)
    return EXIT.ok
  },
})
