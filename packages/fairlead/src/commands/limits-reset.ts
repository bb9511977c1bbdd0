import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead limits reset`. */
export const limitsReset = command({
  name: 'limits reset',
  summary: 'Free all that is held of a limit, debts too.',
  details:
    'For a limit that was filled by mistake. Leases that were reserved until then hold nothing of it any more.',
  args: [{ name: '<key>', text: 'as in global:llm:openai:gpt-5.2:tpm' }],
  needs: 'server',
  examples: [['fairlead limits reset global:llm:openai:gpt-5.2:tpm', 'Nothing is held of it.']],

  async run({ args, client, print }) {
    const { limitText } = await import('../show/show-limits.ts')
    const { limit } = await (await client()).call('limits.reset', { key: args[0] as string })
    print(limit, limitText(limit))
    return EXIT.ok
  },
})
