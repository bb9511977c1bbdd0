import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead limits delete`. */
export const limitsDelete = command({
  name: 'limits delete',
  summary: 'Delete a limit. Reserves on its key are refused from then on.',
  details: 'Leases that hold of it are completed like any other.',
  args: [{ name: '<key>', text: 'as in global:llm:openai:gpt-5.2:tpm' }],
  needs: 'server',
  examples: [['fairlead limits delete global:llm:openai:gpt-5.2:tpm', 'It is gone.']],

  async run({ args, client, print }) {
    const deleted = await (await client()).call('limits.delete', { key: args[0] as string })
    print(deleted, `${deleted.key} is deleted.`)
    return EXIT.ok
  },
})
