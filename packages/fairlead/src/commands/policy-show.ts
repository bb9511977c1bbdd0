import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead policy show`. */
export const policyShow = command({
  name: 'policy show',
  summary: 'Print the policy that the server has in force, as YAML.',
  needs: 'server',
  examples: [
    ['fairlead policy show > policy.yaml', 'Every setting with its value, to edit and set.'],
  ],

  async run({ client, print }) {
    const { stringify } = await import('yaml')
    const { policy } = await (await client()).call('policy.get', {})
    print(policy, stringify(policy).trimEnd().split('\n'))
    return EXIT.ok
  },
})
