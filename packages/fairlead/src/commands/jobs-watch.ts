import type { WireEvent } from '@fairlead/client'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

const ENDS: ReadonlySet<string> = new Set([
  'jobCompleted',
  'jobFailed',
  'jobExpired',
  'jobCanceled',
])

/** `fairlead jobs watch`: what happens, as it happens. */
export const jobsWatch = command<{ after?: string; name?: string }>({
  name: 'jobs watch',
  summary: 'Print events as they happen; of one job until it has ended, or of all.',
  args: [{ name: '[task_id]', text: 'watch this job only; its first 8 or more digits are enough' }],
  options: [
    { flags: '--name <name>', text: 'jobs of this task name, model or platform only' },
    { flags: '--after <seq>', text: 'begin behind this number instead of now' },
  ],
  needs: 'server',
  examples: [
    ['fairlead jobs watch', 'All that happens, until Ctrl-C.'],
    ['fairlead jobs watch --name email', 'Tasks called email.'],
    ['fairlead jobs watch 0x2f1d…', 'One job; ends with 1 if it ends without a result.'],
    ['fairlead jobs watch --after 0 --json', 'Every event that is kept, one JSON object a line.'],
  ],

  async run({ args, flags, client, isJson, terminal }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { eventLine } = await import('../show/show-jobs.ts')
    const { JobNames } = await import('../jobs/job-names.ts')
    const { resolveTaskId } = await import('../jobs/resolve-task-id.ts')
    const { untilSignal } = await import('../terminal/until-signal.ts')
    const [typed] = args
    const server = await client()
    // An iterator of events would wait for a server for as long as it takes.
    await server.ready()
    const taskId = typed === undefined ? undefined : await resolveTaskId(server, typed)
    const stop = untilSignal()
    const after = flags.after === undefined ? {} : { afterSeq: wholeNumber('--after', flags.after) }
    // A job that has begun already is told from its beginning.
    const start =
      taskId === undefined ? after : { afterSeq: await beforeJob(server, taskId), ...after }
    const events = server.events({ ...start, signal: stop.signal })
    const jobOf = jobsOfEvents()
    const names = new JobNames(server, { isOptional: flags.name === undefined })
    for await (const event of events) {
      const job = jobOf(event)
      if (taskId !== undefined && job !== taskId) continue
      // A program that asked for no name gets the events without a call for each job.
      const isNameNeeded = flags.name !== undefined || !isJson
      const name = job === null || !isNameNeeded ? null : await names.of(job)
      if (flags.name !== undefined && name !== flags.name) continue
      terminal.out(
        isJson ? JSON.stringify(event) : eventLine(event, { id: job, name }, terminal.colors),
      )
      if (taskId === undefined || !ENDS.has(event.type)) continue
      return event.type === 'jobCompleted' ? EXIT.ok : EXIT.failed
    }
    return EXIT.ok
  },
})

async function beforeJob(
  server: { call: import('@fairlead/client').NodeClient['call'] },
  task_id: string,
): Promise<number> {
  const { entries } = await server.call('aicf.getTimeline', { task_id })
  return (entries[0]?.seq ?? 1) - 1
}

/** Leases whose jobs are remembered. */
const LEASES_MAX = 100_000

/** Events of leases name the lease only; its job was told when it was assigned. */
function jobsOfEvents(): (event: WireEvent) => string | null {
  const jobs = new Map<string, string>()
  return (event) => {
    if (!('jobId' in event)) return 'leaseId' in event ? (jobs.get(event.leaseId) ?? null) : null
    if ('leaseId' in event) {
      jobs.set(event.leaseId, event.jobId)
      const [oldest] = jobs.keys()
      if (jobs.size > LEASES_MAX && oldest !== undefined) jobs.delete(oldest)
    }
    return event.jobId
  }
}
