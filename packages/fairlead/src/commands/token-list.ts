import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

/** `fairlead token list`. */
export const tokenList = command<{ store?: string }>({
  name: 'token list',
  summary: 'List tokens: whose they are, how long they are valid, and what they are held to.',
  options: [STORE_OPTION],
  needs: 'file',
  examples: [['fairlead token list', 'All of them, those that are over too.']],

  async run({ config, flags, print }) {
    const { openTokens, tokensTable } = await import('../tokens.ts')
    const tokens = openTokens(await config(storeFlag(flags)))
    const records = tokens.list()
    print(
      records,
      records.length === 0 ? `There are none in ${tokens.path}.` : tokensTable(records),
    )
    return EXIT.ok
  },
})
