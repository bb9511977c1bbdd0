import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { SCOPE_DETAILS, SCOPE_OPTIONS, type ScopeFlags } from '../flags/scope-flags.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

interface Flags extends ScopeFlags {
  readonly role?: string
  readonly subject?: string
  readonly tier?: string
  readonly expires?: string
  readonly store?: string
}

/** `fairlead token create`: printed once, kept as a hash only. */
export const tokenCreate = command<Flags>({
  name: 'token create',
  summary: 'Create a token and print it, this once; only its hash is kept.',
  details:
    'Writes the tokens file beside the store, whether a server runs or not. Only the server on that store reads it: run this in the folder of the server, or name the same --store or --config.\n' +
    'The subject of a requester is its name, that of a provider its id (provider:atlas).\n' +
    SCOPE_DETAILS,
  options: [
    { flags: '--role <role>', text: 'requester, provider, operator, auditor or admin' },
    { flags: '--subject <name>', text: 'whose token it is' },
    { flags: '--tier <name>', text: 'FREE, PRO or PREMIUM: of a requester’s jobs (FREE)' },
    { flags: '--expires <time>', text: 'how long it is valid, such as 90d (for good)' },
    ...SCOPE_OPTIONS,
    STORE_OPTION,
  ],
  needs: 'file',
  examples: [
    ['fairlead token create --role requester --subject acme --expires 90d', 'For an application.'],
    ['fairlead token create --role provider --subject provider:atlas', 'For the workers of atlas.'],
    [
      'fairlead token create --role provider --subject provider:signup --kinds registration --platforms swim-club',
      'For `fairlead signup`, which books at swim-club.',
    ],
    [
      "fairlead token create --role requester --subject shop --kinds task --models 'shop.*' --limits 'shop:*'",
      'For an application that needs no more.',
    ],
    ['FAIRLEAD_TOKEN=$(fairlead token create --role admin --subject me)', 'For this shell.'],
  ],

  async run({ flags, config, print, terminal }) {
    const { duration, misuse } = await import('../flags/flags.ts')
    const { openTokens, readerNotes } = await import('../tokens.ts')
    const { readScopeFlags } = await import('../flags/scope-flags.ts')
    const { role, subject, tier, expires } = flags
    if (role === undefined || subject === undefined) {
      throw misuse('expected --role and --subject, as in: --role requester --subject acme')
    }
    const loaded = await config(storeFlag(flags))
    const tokens = openTokens(loaded)
    const isFirst = tokens.isEmpty()
    const { token, record } = tokens.create({
      role: role as 'requester',
      subject,
      ...(tier === undefined ? {} : { tier }),
      ...(expires === undefined ? {} : { expiresAt: Date.now() + duration('--expires', expires) }),
      scope: readScopeFlags(flags),
    })
    print({ ...record, token }, token)
    terminal.note(`Token ${record.id} for ${role} ${subject}; it is not shown again.`)
    if (record.role === 'provider' && record.scope?.platforms === undefined) {
      terminal.note(
        'It gets no registrations: these take --kinds registration --platforms <names>.',
      )
    }
    for (const note of await readerNotes(loaded)) terminal.note(note)
    const tiers = Object.keys(loaded.policy.priority.tiers)
    // The policy of the server may be another than that of the files here.
    if (tier !== undefined && !tiers.includes(tier)) {
      terminal.note(
        `The policy here has no tier ${tier}, only ${tiers.join(', ')}: without it in priority.tiers its enqueues are refused.`,
      )
    }
    if (isFirst) terminal.note('It is the first one: from now on every call needs a token.')
    return EXIT.ok
  },
})
