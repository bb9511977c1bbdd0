import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly status?: string
  readonly kind?: string
  readonly name?: string
  readonly provider?: string
  readonly caller?: string
  readonly tag?: string
  readonly key?: string
  readonly dedupeKey?: string
  readonly error?: string
  readonly waitReason?: string
  readonly since?: string
  readonly until?: string
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
    {
      flags: '--status <status>',
      text: 'QUEUED, ASSIGNED, RUNNING, COMPLETED, FAILED, EXPIRED, CANCELED',
    },
    { flags: '--kind <kind>', text: 'ai, quantum, task, registration' },
    { flags: '--name <name>', text: 'task name, model, or platform of a registration' },
    { flags: '--provider <id>', text: 'those whose newest attempt it has or had' },
    { flags: '--caller <id>', text: 'those of one requester' },
    { flags: '--tag <text>', text: 'those with this tag' },
    { flags: '--key <text>', text: 'the one with this idempotency key' },
    { flags: '--dedupe-key <text>', text: 'those with this dedupe key' },
    { flags: '--error <code>', text: 'those whose last failure had this code' },
    {
      flags: '--wait-reason <reason>',
      text: 'not_open, scheduled, dependencies, backoff, pacing, budget, proof, no_provider, ready',
    },
    { flags: '--since <time>', text: 'enqueued since then, as 2026-01-31 or 12h' },
    { flags: '--until <time>', text: 'enqueued before then' },
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

  async run({ flags, client, print, terminal }) {
    const { JOB_STATUSES, KIND_NAMES, WAIT_REASONS } = await import('@fairlead/core')
    const { oneOfWords, pastTime, wholeNumber } = await import('../flags/flags.ts')
    const { jobsTable } = await import('../show/show-jobs.ts')
    const limit = wholeNumber('--limit', flags.limit, { min: 1, max: 1_000_000 })
    const filter = {
      ...(flags.status === undefined
        ? {}
        : { status: oneOfWords('--status', flags.status, JOB_STATUSES) }),
      ...(flags.kind === undefined ? {} : { kind: oneOfWords('--kind', flags.kind, KIND_NAMES) }),
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...(flags.provider === undefined ? {} : { provider_id: flags.provider }),
      ...(flags.caller === undefined ? {} : { caller: flags.caller }),
      ...(flags.tag === undefined ? {} : { tag: flags.tag }),
      ...(flags.key === undefined ? {} : { idempotency_key: flags.key }),
      ...(flags.dedupeKey === undefined ? {} : { dedupe_key: flags.dedupeKey }),
      ...(flags.error === undefined ? {} : { error: flags.error }),
      ...(flags.waitReason === undefined
        ? {}
        : { wait_reason: oneOfWords('--wait-reason', flags.waitReason, WAIT_REASONS) }),
      ...(flags.since === undefined ? {} : { since: pastTime('--since', flags.since, Date.now()) }),
      ...(flags.until === undefined ? {} : { until: pastTime('--until', flags.until, Date.now()) }),
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
    if (jobs.length === limit)
      terminal.note(terminal.colors.dim(`The first ${limit}; see --limit.`))
    return EXIT.ok
  },
})
