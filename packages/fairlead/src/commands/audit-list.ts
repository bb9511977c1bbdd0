import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead audit list`. */
export const auditList = command<{ after: string; limit: string }>({
  name: 'audit list',
  summary: 'List entries of the audit log, the oldest first.',
  options: [
    { flags: '--after <seq>', text: 'begin behind this number', default: '0' },
    { flags: '--limit <n>', text: 'how many at most', default: '50' },
  ],
  needs: 'server',
  examples: [['fairlead audit list --after 1000 --limit 20', 'Twenty entries from number 1001.']],

  async run({ flags, client, print, isJson, terminal, warn }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { auditPages, auditLine } = await import('../audit.ts')
    const afterSeq = wholeNumber('--after', flags.after)
    const limit = wholeNumber('--limit', flags.limit, { min: 1, max: 1_000_000 })
    const entries = []
    for await (const page of auditPages(await client(), { afterSeq, limit })) entries.push(...page)
    if (isJson || entries.length === 0) print(entries, 'There are none.')
    else terminal.out(entries.map((entry) => auditLine(entry, terminal.colors)))
    if (entries.length === limit) {
      const { seq } = entries.at(-1) as { readonly seq: number }
      warn(`The first ${limit}; go on with --after ${seq}.`)
    }
    return EXIT.ok
  },
})
