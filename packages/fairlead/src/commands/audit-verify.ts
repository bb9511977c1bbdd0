import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead audit verify`: does every entry follow from the one before? */
export const auditVerify = command<{ file?: string }>({
  name: 'audit verify',
  summary: 'Check the hash chain of the audit log, and name the first broken link.',
  options: [
    { flags: '--file <file>', text: 'check an exported log here, without trust in any server' },
  ],
  needs: 'server',
  examples: [
    ['fairlead audit verify', 'The log of the server, checked by the server.'],
    [
      'fairlead audit verify --file audit.jsonl',
      'An export, checked here. Ends with 1 if it is broken.',
    ],
  ],

  async run({ flags, client, print }) {
    const { verifyFile, verifyServer } = await import('../audit.ts')
    const found =
      flags.file === undefined ? await verifyServer(await client()) : await verifyFile(flags.file)
    const { checked, broken_seq: broken, broken_batch: batch } = found
    if (batch !== null) {
      print(found, `Wrong: the audit log does not bear out the settled epoch with batch ${batch}.`)
      return EXIT.failed
    }
    const text =
      broken === null
        ? `${checked} entries, every link holds. Head: ${found.head.seq} ${found.head.hash}`
        : `Broken at entry ${broken}: it does not follow from the one before. Up to there ${checked} entries hold.`
    print(found, text)
    return broken === null ? EXIT.ok : EXIT.failed
  },
})
