import type { ParamsOf } from '@fairlead/protocol'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead policy set`. */
export const policySet = command({
  name: 'policy set',
  summary: 'Put the policy of a file in force, as a whole. It acts at once.',
  details:
    'What the file leaves out is as in its preset. A server that was started with a policy of its own in\n' +
    'fairlead.yaml goes back to that when it is started again.',
  args: [{ name: '<file>', text: 'a fairlead.yaml, of which the policy is taken' }],
  needs: 'server',
  examples: [['fairlead policy set policy.yaml', 'Checked here first, then by the server.']],

  async run({ args, client, print }) {
    const { loadConfig } = await import('../config/load-config.ts')
    // Only the file: what is in the environment of whoever types this is not the server's policy.
    const given = loadConfig({ env: {}, cwd: process.cwd(), file: args[0] })
    const { policy } = await (await client()).call('policy.set', {
      policy: given.writtenPolicy ?? {},
      preset: given.settings.preset,
    } as ParamsOf<'policy.set'>)
    print(policy, `The policy of ${given.file} is in force.`)
    return EXIT.ok
  },
})
