import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `fairlead settle verify`: does a settled epoch follow from its claims and its policy? */
export const settleVerify = command<{ provider?: string; audit?: string }>({
  name: 'settle verify',
  summary: 'Check settled epochs here, without trust in any server.',
  details:
    'A file has a batch with all its lines, or the payouts of one provider with their way to the root. The roots, the id, every line\n' +
    'and all totals are computed again. With its policy and the batches before it, the whole close is. Several files\n' +
    'are checked as a chain: give the oldest first.\n' +
    'It ends with 1 and names the first thing that is wrong.',
  args: [{ name: '<files...>', text: 'batches, or payouts of a provider; the oldest first' }],
  options: [
    { flags: '--provider <id>', text: 'follow the payouts of this provider to the root too' },
    {
      flags: '--audit <file>',
      text: 'an export of the audit log, which has to bear out each batch',
    },
  ],
  examples: [
    ['fairlead settle verify batch-490000.json', 'A batch by itself.'],
    [
      'fairlead settle verify batch-*.json --audit audit.jsonl',
      'A chain of batches, and the log behind them.',
    ],
    [
      'fairlead settle verify payouts.json --provider provider:gpu-1',
      'The payouts of one provider.',
    ],
  ],

  async run({ args, flags, terminal, print }) {
    const { verifySettlements } = await import('../settle/verify-settlements.ts')
    const { settlementLines } = await import('../settle/settlement-text.ts')
    const found = await verifySettlements({
      files: args,
      providerId: flags.provider ?? null,
      auditFile: flags.audit ?? null,
      onProgress: terminal.progress,
    })
    print(found, settlementLines(found))
    return found.ok ? EXIT.ok : EXIT.failed
  },
})
