import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead explain`. */
export const explain = command({
  name: 'explain',
  summary: 'Say why a job waits, or why it went where it went.',
  args: [{ name: '<task_id>', text: 'of the job, or its first 8 or more digits' }],
  needs: 'server',
  examples: [
    ['fairlead explain 0x2f1d…', 'In sentences.'],
    [
      'fairlead explain 0x2f1d… --json',
      'With seeds, orders and every provider’s first failing check.',
    ],
  ],

  async run({ args, client, print }) {
    const { resolveTaskId } = await import('../jobs/resolve-task-id.ts')
    const server = await client()
    const explanation = await server.explain(await resolveTaskId(server, args[0] as string))
    print(explanation, explanation.text.split('\n'))
    return EXIT.ok
  },
})
