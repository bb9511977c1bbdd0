import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import type { QueueFlags } from '../flags/queue-flags.ts'

/** `fairlead queues resume`. */
export const queuesResume = command<QueueFlags>({
  name: 'queues resume',
  summary: 'End a pause, named as it was made.',
  args: [{ name: '<kind>', text: 'ai, quantum or task' }],
  options: [
    { flags: '--name <name>', text: 'only of this model or task' },
    { flags: '--caller <name>', text: 'only of this caller: a name, or its id' },
  ],
  needs: 'server',
  examples: [
    [
      'fairlead queues resume task --name resize',
      'They go again. Ends with 3 if they were not paused.',
    ],
  ],

  async run({ args, flags, client, print }) {
    const { readQueueKey } = await import('../flags/queue-flags.ts')
    const { queueText } = await import('../show/show-queues.ts')
    const key = readQueueKey(args[0] as string, flags)
    const { resumed } = await (await client()).call('queues.resume', key)
    print({ ...key, resumed }, `${queueText(key)} ${resumed ? 'goes on' : 'was not paused'}.`)
    return resumed ? EXIT.ok : EXIT.refused
  },
})
