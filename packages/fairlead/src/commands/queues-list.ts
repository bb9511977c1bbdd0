import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead queues list`. */
export const queuesList = command({
  name: 'queues list',
  summary: 'List ready jobs by kind and name, and what is paused.',
  needs: 'server',
  examples: [['fairlead queues list', 'All queues with ready jobs, and all pauses.']],

  async run({ client, print }) {
    const { queuesText } = await import('../show/show-queues.ts')
    const found = await (await client()).call('queues.list', {})
    print(found, queuesText(found, Date.now()))
    return EXIT.ok
  },
})
