import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { STORE_OPTION, storeFlag } from '../flags/store-flag.ts'

/** `fairlead backup`. */
export const backup = command<{ store?: string }>({
  name: 'backup',
  summary: 'Write a backup of the store into a new file, while the server works.',
  details: [
    'The server at --url writes the file, on its own machine; that takes an admin. Everything that it had answered before is in',
    'it. Without a server the store is opened here; with --store this is tried first.',
    'The backup is one file and needs no log. The key file (FILE.key) is not in it: keep a copy of it elsewhere.',
    'The same holds for the tokens file.',
  ].join('\n'),
  args: [{ name: '<to>', text: 'the file to make; nothing may be there yet' }],
  options: [STORE_OPTION],
  needs: 'server',
  examples: [
    ['fairlead backup /var/backups/monday.db', 'The store of the server at FAIRLEAD_URL.'],
    ['fairlead backup monday.db --store fairlead.db', 'A store whose server is stopped.'],
  ],

  async run({ args, flags, config, client, terminal, print }) {
    const { makeBackup } = await import('../storage/make-backup.ts')
    const { sizeText } = await import('../storage/store-files.ts')
    const made = await makeBackup(args[0] as string, {
      config: await config(storeFlag(flags)),
      isStoreNamed: flags.store !== undefined,
      client,
      progress: terminal.progress,
    })
    const { path, batch, bytes, key_file: keyFile } = made
    const key = `${keyFile} is not in it and belongs to it: keep a copy of that, apart from the backup.`
    print(made, [
      `${path} has everything up to batch ${batch} (${sizeText(bytes)}).`,
      ...(keyFile === null ? [] : [key]),
    ])
    return EXIT.ok
  },
})
