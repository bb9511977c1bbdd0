import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { QUEUE_ARGS, QUEUE_OPTIONS, type QueueFlags } from '../flags/queue-options.ts'

/** `fairlead queues resume`. */
export const queuesResume = command<QueueFlags>({
  name: 'queues resume',
  summary: 'End a pause, named as it was made.',
  args: QUEUE_ARGS,
  options: QUEUE_OPTIONS,
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
