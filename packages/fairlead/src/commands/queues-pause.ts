import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import type { QueueFlags } from '../flags/queue-flags.ts'

/** `fairlead queues pause`. */
export const queuesPause = command<QueueFlags>({
  name: 'queues pause',
  summary: 'Hold back jobs; leases in hand go on.',
  args: [{ name: '<kind>', text: 'ai, quantum or task' }],
  options: [
    { flags: '--name <name>', text: 'only of this model or task' },
    { flags: '--caller <name>', text: 'only of this caller: a name, or its id' },
  ],
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
