import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead limits show`. */
export const limitsShow = command({
  name: 'limits show',
  summary: 'Show a limit: what it allows, and what is held of it.',
  args: [{ name: '<key>', text: 'as in global:llm:openai:gpt-5.2:tpm' }],
  needs: 'server',
  examples: [['fairlead limits show global:llm:openai:gpt-5.2:tpm', 'One limit.']],

  async run({ args, client, print }) {
    const { limitText } = await import('../show/show-limits.ts')
    const { limit } = await (await client()).call('limits.get', { key: args[0] as string })
    print(limit, limitText(limit))
    return EXIT.ok
  },
})
