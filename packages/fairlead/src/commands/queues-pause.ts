import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { QUEUE_ARGS, QUEUE_OPTIONS, type QueueFlags } from '../flags/queue-options.ts'

/** `fairlead queues pause`. */
export const queuesPause = command<QueueFlags>({
  name: 'queues pause',
  summary: 'Hold back jobs; leases in hand go on.',
  args: QUEUE_ARGS,
  options: QUEUE_OPTIONS,
  needs: 'server',
  examples: [
    [
      'fairlead queues pause task --name resize',
      'No new lease for tasks named resize until they are resumed.',
    ],
  ],

  async run({ args, flags, client, print }) {
    const { readQueueKey } = await import('../flags/queue-flags.ts')
    const { queueText } = await import('../show/show-queues.ts')
    const key = readQueueKey(args[0] as string, flags)
    const { pause } = await (await client()).call('queues.pause', key)
    print(pause, `${queueText(pause)} is paused.`)
    return EXIT.ok
  },
})
