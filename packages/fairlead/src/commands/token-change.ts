import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { SCOPE_DETAILS, SCOPE_OPTIONS, type ScopeFlags } from '../flags/scope-flags.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

/** `fairlead token change`: another scope for the same token. */
export const tokenChange = command<ScopeFlags & { store?: string }>({
  name: 'token change',
  summary: 'Change what a token is held to; what is left out stays as it is.',
  details: `The token itself stays the same. A running server notices within a second, and its sockets connect again.\n${SCOPE_DETAILS}`,
  args: [{ name: '<id>', text: 'of the token, as `token list` shows it' }],
  options: [
    ...SCOPE_OPTIONS,
    { flags: '--no-read-only', text: 'it may change what its role may' },
    STORE_OPTION,
  ],
  needs: 'file',
  examples: [
    [
      'fairlead token change 3f9a0c11d2e4 --kinds registration --platforms swim-club',
      'A provider of registrations, for one booking platform.',
    ],
    ["fairlead token change 3f9a0c11d2e4 --models '*'", 'Any model again.'],
  ],

  async run({ args, config, flags, print }) {
    const { openTokens } = await import('../tokens.ts')
    const { scopeText } = await import('@fairlead/server/tokens')
    const { misuse } = await import('../flags/flags.ts')
    const { readScopeFlags } = await import('../flags/scope-flags.ts')
    const change = readScopeFlags(flags)
    if (Object.keys(change).length === 0) {
      throw misuse('expected what to change, as in --kinds ai,task or --read-only')
    }
    const tokens = openTokens(await config(storeFlag(flags)))
    const record = tokens.changeScope(args[0] as string, change)
    const scope = scopeText(record.scope)
    print(
      record,
      `Token ${record.id} of ${record.role} ${record.subject} is held to: ${scope || 'its role'}.`,
    )
    return EXIT.ok
  },
})
