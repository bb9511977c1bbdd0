import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

/** `fairlead token revoke`. */
export const tokenRevoke = command<{ store?: string }>({
  name: 'token revoke',
  summary: 'Revoke a token, for good. A running server notices at once and closes its sockets.',
  args: [{ name: '<id>', text: 'of the token, as `token list` shows it' }],
  options: [STORE_OPTION],
  needs: 'file',
  examples: [['fairlead token revoke 3f9a0c11d2e4', 'Nobody is let in with it any more.']],

  async run({ args, config, flags, print }) {
    const { openTokens } = await import('../tokens.ts')
    const record = openTokens(await config(storeFlag(flags))).revoke(args[0] as string)
    print(record, `Token ${record.id} of ${record.role} ${record.subject} is revoked.`)
    return EXIT.ok
  },
})
