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
export const jobsWatch = command<{ after?: string }>({
  name: 'jobs watch',
  summary: 'Print events as they happen; of one job until it has ended, or of all.',
  args: [{ name: '[task_id]', text: 'watch this job only' }],
  options: [{ flags: '--after <seq>', text: 'begin behind this number instead of now' }],
  needs: 'server',
  examples: [
    ['fairlead jobs watch', 'All that happens, until Ctrl-C.'],
    ['fairlead jobs watch 0x2f1d…', 'One job; ends with 1 if it ends without a result.'],
    ['fairlead jobs watch --after 0 --json', 'Every event that is kept, one JSON object a line.'],
  ],

  async run({ args, flags, client, isJson, terminal }) {
    const { wholeNumber } = await import('../flags.ts')
    const { eventLine } = await import('../show-jobs.ts')
    const { untilSignal } = await import('../until-signal.ts')
    const [taskId] = args
    const server = await client()
    // An iterator of events would wait for a server for as long as it takes.
    await server.ready()
    const stop = untilSignal()
    const after = flags.after === undefined ? {} : { afterSeq: wholeNumber('--after', flags.after) }
    // A job that has begun already is told from its beginning.
    const start =
      taskId === undefined ? after : { afterSeq: await beforeJob(server, taskId), ...after }
    const events = server.events({ ...start, signal: stop.signal })
    const leases = new Set<string>()
    for await (const event of events) {
      if (taskId !== undefined && !isOf(event, taskId, leases)) continue
      terminal.out(isJson ? JSON.stringify(event) : eventLine(event, terminal.colors))
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

/** Events of leases name the lease only; whose it is was told when it was assigned. */
function isOf(event: WireEvent, taskId: string, leases: Set<string>): boolean {
  if ('jobId' in event) {
    if (event.jobId !== taskId) return false
    if ('leaseId' in event) leases.add(event.leaseId)
    return true
  }
  return 'leaseId' in event && leases.has(event.leaseId)
}
