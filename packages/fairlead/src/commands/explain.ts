import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead explain`. */
export const explain = command({
  name: 'explain',
  summary: 'Say why a job waits, or why it went where it went.',
  args: [{ name: '<task_id>', text: 'of the job' }],
  needs: 'server',
  examples: [
    ['fairlead explain 0x2f1d…', 'In sentences.'],
    [
      'fairlead explain 0x2f1d… --json',
      'With seeds, orders and every provider’s first failing check.',
    ],
  ],

  async run({ args, client, print }) {
    const explanation = await (await client()).explain(args[0] as string)
    print(explanation, explanation.text)
    return EXIT.ok
  },
})
