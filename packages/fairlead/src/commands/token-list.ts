import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead token list`. */
export const tokenList = command({
  name: 'token list',
  summary: 'List tokens: whose they are and how long they are valid, not what they are.',
  needs: 'file',
  examples: [['fairlead token list', 'All of them, those that are over too.']],

  async run({ config, print }) {
    const { openTokens, tokensTable } = await import('../tokens.ts')
    const tokens = openTokens(await config())
    const records = tokens.list()
    print(
      records,
      records.length === 0 ? `There are none in ${tokens.path}.` : tokensTable(records),
    )
    return EXIT.ok
  },
})
