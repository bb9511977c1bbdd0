import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead audit prune`: what was exported need not be kept twice. */
export const auditPrune = command<{ before?: string }>({
  name: 'audit prune',
  summary: 'Delete old entries of the audit log. Export them first: they are gone for good.',
  options: [
    {
      flags: '--before <time>',
      text: 'entries from before this time, as a date (2026-01-31) or an age (30d)',
    },
  ],
  needs: 'server',
  examples: [
    ['fairlead audit export --out audit.jsonl && fairlead audit prune --before 30d', 'In turn.'],
    [
      'fairlead audit prune --before 2026-01-31T12:00:00Z',
      'What the policy keeps (journal.keep_secs, journal.keep_entries) stays all the same.',
    ],
  ],

  async run({ flags, client, print }) {
    const { misuse, pastTime } = await import('../flags/flags.ts')
    if (flags.before === undefined) throw misuse('--before: say from before when, as in 30d')
    const before = pastTime('--before', flags.before, Date.now())
    const found = await (await client()).call('audit.prune', { before })
    const { deleted, head } = found
    const text =
      deleted === 0
        ? 'There is nothing to delete: the policy keeps what is there, or it is newer than that.'
        : `${deleted} entries deleted, up to number ${head.seq}. What is left is verified from ${head.hash} on.`
    print(found, text)
    return EXIT.ok
  },
})
