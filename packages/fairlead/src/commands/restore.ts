import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

/** `fairlead restore`. */
export const restore = command<{ store?: string; force?: boolean }>({
  name: 'restore',
  summary: 'Make a store of a backup. A store that is there is moved aside, never deleted.',
  details: [
    'Every page of the backup is checked before anything is changed. Stop the server first; start it afterwards.',
    'Jobs that ended after the backup was made are not ended any more, and are run again. Leases that were given after it are',
    'unknown. New leases have ids that the store before never used, and the audit log has an entry storeRestored.',
    'Put the key file of the store beside it: without it registrations cannot be read.',
  ].join('\n'),
  args: [{ name: '<from>', text: 'a file that fairlead backup made; it stays as it is' }],
  options: [
    STORE_OPTION,
    { flags: '--force', text: 'rename a store that is there to FILE.before-restore-…' },
  ],
  needs: 'file',
  examples: [
    ['fairlead restore monday.db', 'To ./fairlead.db, if no store is there.'],
    ['fairlead restore monday.db --store /var/lib/fairlead/fairlead.db --force', 'In its place.'],
  ],

  async run({ args, flags, config, terminal, print }) {
    const { restoreBackup } = await import('../storage/restore-backup.ts')
    const { escaped } = await import('../terminal/escaped.ts')
    const [from = ''] = args
    const loaded = await config(storeFlag(flags))
    terminal.progress(`Checking and copying ${escaped(from)} …`)
    const restored = restoreBackup(from, { config: loaded, isForced: flags.force === true })
    const { store, batch, moved_to: movedTo, missing } = restored
    print(restored, [
      `${store} is as after batch ${batch} now. Start its server: fairlead serve --store ${store}`,
      ...(movedTo === null ? [] : [`The store that was there is ${movedTo}.`]),
      ...missing.map((file) => `${file} is not there: if the store had one, put it back first.`),
    ])
    return EXIT.ok
  },
})
