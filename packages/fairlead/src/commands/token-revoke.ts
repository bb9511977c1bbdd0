import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead token revoke`. */
export const tokenRevoke = command({
  name: 'token revoke',
  summary: 'Revoke a token, for good. A running server notices at once.',
  args: [{ name: '<id>', text: 'of the token, as `token list` shows it' }],
  needs: 'file',
  examples: [['fairlead token revoke 3f9a0c11d2e4', 'Whoever has it is let in no more.']],

  async run({ args, config, print }) {
    const { openTokens } = await import('../tokens.ts')
    const record = openTokens(await config()).revoke(args[0] as string)
    print(record, `Token ${record.id} of ${record.role} ${record.subject} is revoked.`)
    return EXIT.ok
  },
})
