import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

interface Flags {
  readonly store?: string
  readonly dryRun?: boolean
}

/** More are in `--json`. */
const SHOWN_MAX = 20

/** `fairlead log accept-replay`. */
export const logAcceptReplay = command<Flags>({
  name: 'log accept-replay',
  summary: 'Replay the log with the decisions of this version, where an upgrade decides otherwise.',
  details: [
    'For a start that is refused because the replay differs. Better: start the version that wrote the log once, and stop it cleanly.',
    'If that cannot be done, this command writes the decisions of this version into the tables. Callers may have been told other ones:',
    'a command that this version refuses is left out, and a job may go to another provider. Keep a copy of all files of the store, and',
    'look at the differences first with --dry-run. The audit log has an entry replayAccepted.',
  ].join('\n'),
  options: [
    STORE_OPTION,
    { flags: '--dry-run', text: 'only show what would be decided otherwise' },
  ],
  needs: 'file',
  examples: [
    ['fairlead log accept-replay --dry-run', 'See what differs.'],
    ['fairlead log accept-replay', 'Take the new decisions, then start the server.'],
  ],

  async run({ flags, config, print }) {
    const { acceptStoreReplay } = await import('../storage/accept-store-replay.ts')
    const { path } = (await config(storeFlag(flags))).settings.store
    const isTrial = flags.dryRun === true
    const found = await acceptStoreReplay(path, isTrial)
    const { from, to, commands, differences } = found
    const differing = new Set(differences.map(({ batch }) => batch)).size
    const replayed = `Replayed ${to - from} batches with ${commands} commands`
    const shown = differences
      .slice(0, SHOWN_MAX)
      .map(({ batch, text }) => `- batch ${batch}: ${text}`)
    const more = differences.length - shown.length
    const end = isTrial
      ? 'Nothing was changed.'
      : `The tables have the new decisions, up to batch ${to}. Start the server: fairlead serve --store ${path}`
    const lines =
      differences.length === 0
        ? [`${replayed}: nothing differs, and nothing was changed. A start replays it by itself.`]
        : [
            `${replayed}: ${differing} of them decided otherwise.`,
            ...shown,
            ...(more > 0 ? [`- ${more} more; --json has all.`] : []),
            end,
          ]
    print({ ...found, is_trial: isTrial, store: path }, lines)
    return EXIT.ok
  },
})
