import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly out: string
  readonly provider?: string
  readonly audit?: boolean
}

/** `fairlead settle export`: the files that `settle verify` reads. */
export const settleExport = command<Flags>({
  name: 'settle export',
  summary: 'Write settled epochs to files that anybody can verify offline.',
  details:
    'A file for each epoch: the batch with all its lines, or with --provider the payouts of one provider with their way to the root.\n' +
    'Without epochs it writes all of them. Epochs without a batch are left out.',
  args: [{ name: '[epochs...]', text: 'numbers of epochs; all if left out' }],
  options: [
    { flags: '--out <folder>', text: 'where to; made if it is not there', default: '.' },
    { flags: '--provider <id>', text: 'only the payouts of this provider' },
    {
      flags: '--audit',
      text: 'also audit.jsonl: the audit log from the first of these batches on',
    },
  ],
  needs: 'server',
  examples: [
    ['fairlead settle export --out settled --audit', 'Everything, for an auditor.'],
    [
      'fairlead settle export 490000 --provider provider:atlas',
      'For a provider: its own payouts of an epoch.',
    ],
  ],

  async run({ args, flags, client, terminal, print }) {
    const { wholeNumber } = await import('../flags/flags.ts')
    const { exportSettlements } = await import('../settle/export-settlements.ts')
    const exported = await exportSettlements(await client(), {
      epochs: args.map((text) => wholeNumber('<epochs...>', text)),
      folder: flags.out,
      providerId: flags.provider ?? null,
      hasAudit: flags.audit === true,
      onProgress: terminal.progress,
    })
    const { files, audit_file: audit } = exported
    const more = audit === null ? '' : ` --audit ${audit}`
    print(exported, [
      ...files,
      ...(audit === null ? [] : [audit]),
      files.length === 0
        ? 'No epoch has been settled.'
        : `Verify them: fairlead settle verify ${files.join(' ')}${more}`,
    ])
    return EXIT.ok
  },
})
