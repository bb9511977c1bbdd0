import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly attempt?: string
}

/** `fairlead jobs logs`. */
export const jobsLogs = command<Flags>({
  name: 'jobs logs',
  summary: 'Show the lines that the attempts of a job have logged, and how far each came.',
  args: [{ name: '<task_id>', text: 'of the job, or its first 8 or more digits' }],
  options: [{ flags: '--attempt <n>', text: 'of one attempt; 0 is the first' }],
  needs: 'server',
  examples: [['fairlead jobs logs 0x2f1d… --attempt 0', 'The lines of the first attempt.']],

  async run({ args, flags, client, print }) {
    const { resolveTaskId } = await import('../jobs/resolve-task-id.ts')
    const { wholeNumber } = await import('../flags/flags.ts')
    const { progressText } = await import('../show/show-jobs.ts')
    const server = await client()
    const task_id = await resolveTaskId(server, args[0] as string)
    const wanted =
      flags.attempt === undefined ? {} : { attempt: wholeNumber('--attempt', flags.attempt) }
    const logs = await server.call('aicf.getLogs', { task_id, ...wanted })
    const lines = logs.attempts.flatMap(({ attempt, dropped, lines: said, progress }) => [
      ...(dropped === 0 ? [] : [`attempt ${attempt}: ${dropped} older lines are gone`]),
      ...said.map(({ at, text }) => `${attempt} ${new Date(at).toISOString()} ${text}`),
      ...(progress === null ? [] : [`attempt ${attempt} came to ${progressText(progress)}`]),
    ])
    print(logs.attempts, lines.length === 0 ? 'There are none.' : lines)
    return EXIT.ok
  },
})
