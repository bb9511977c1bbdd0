import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

/** `fairlead log verify`. */
export const logVerify = command<{ store?: string }>({
  name: 'log verify',
  summary: 'Check that the log is whole, and that replaying it decides the same.',
  details: [
    'Reads every record of the log and the tables, then replays the records that the tables lack and compares every digest.',
    'It ends with 1 and names the file, the place and the batch if something is wrong. Stop the server before: while it runs',
    'only the log is read, and the command ends with 4. A backup can be checked at any time.',
  ].join('\n'),
  options: [STORE_OPTION],
  needs: 'file',
  examples: [
    ['fairlead log verify', 'The store of the server in this folder, which is stopped.'],
    ['fairlead log verify --store backup.db', 'A backup: all of its pages.'],
  ],

  async run({ flags, config, terminal, print }) {
    const { verifyStore } = await import('../storage/verify-store.ts')
    const { verificationLines } = await import('../storage/verification-text.ts')
    const { path } = (await config(storeFlag(flags))).settings.store
    const found = await verifyStore(path, terminal.progress)
    print(found, verificationLines(found))
    if (found.problem !== null) return EXIT.failed
    return found.is_held ? EXIT.unavailable : EXIT.ok
  },
})
