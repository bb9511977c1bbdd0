import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead audit export`. */
export const auditExport = command<{ after: string; out?: string }>({
  name: 'audit export',
  summary: 'Write the audit log to a file, one JSON object a line.',
  options: [
    { flags: '--after <seq>', text: 'begin behind this number', default: '0' },
    { flags: '--out <file>', text: 'where to; standard output if left out' },
  ],
  needs: 'server',
  examples: [
    ['fairlead audit export --out audit.jsonl', 'All of it.'],
    ['fairlead audit export --after 1000 | gzip > more.jsonl.gz', 'What came since.'],
  ],

  async run({ flags, client, terminal }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { exportLog } = await import('../audit.ts')
    const afterSeq = wholeNumber('--after', flags.after)
    const count = await exportLog(await client(), {
      afterSeq,
      file: flags.out ?? null,
      onProgress: (done) => terminal.progress(`${done} entries`),
    })
    terminal.note(`${count} entries written.`)
    return EXIT.ok
  },
})
