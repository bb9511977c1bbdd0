import type { NodeClient } from '@fairlead/client'
import type { LimitDefinition } from '@fairlead/protocol'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import type { LimitFlags } from '../flags/limit-flags.ts'

/** `fairlead limits set`. */
export const limitsSet = command<LimitFlags>({
  name: 'limits set',
  summary: 'Define a limit, or change one; what is left out stays as it is.',
  details:
    'A higher capacity acts at once; a lower one when no more is held than it allows, and until then nothing\n' +
    'is reserved on the key. The kind of a key never changes.',
  args: [{ name: '<key>', text: 'as in global:llm:openai:gpt-5.2:tpm' }],
  options: [
    { flags: '--kind <kind>', text: 'rolling, fixed, concurrency or bucket; for a new one' },
    { flags: '--capacity <n>', text: 'how much in a window, or at one time' },
    { flags: '--window <time>', text: 'rolling, fixed: as in 60s, 1h or 1d' },
    { flags: '--timeout <time>', text: 'concurrency: when what is never completed ends' },
    { flags: '--burst <n>', text: 'bucket: how much at once' },
    { flags: '--rate <n>', text: 'bucket: how much comes back in a second' },
    { flags: '--overage <way>', text: 'usage above what was reserved: debt or deny' },
    { flags: '--callers <names>', text: 'who may reserve on it, as in ann,ben; empty is all' },
    { flags: '--unit <text>', text: 'what the amounts count, for people' },
    { flags: '--description <text>', text: 'for people' },
  ],
  needs: 'server',
  examples: [
    [
      'fairlead limits set global:llm:openai:gpt-5.2:tpm --kind rolling --capacity 200000 --window 60s',
      '200,000 tokens in any minute.',
    ],
    ['fairlead limits set global:llm:openai:gpt-5.2:tpm --capacity 100000', 'Half of that.'],
    ['fairlead limits set site --kind bucket --burst 5 --rate 0.5', 'One in 2 s, 5 at once.'],
  ],

  async run({ args, flags, client, print }) {
    const { LIMIT_KINDS } = await import('@fairlead/core/internal')
    const { readLimitFlags } = await import('../flags/limit-flags.ts')
    const { misuse } = await import('../flags/flags.ts')
    const { limitText } = await import('../show/show-limits.ts')
    const key = args[0] as string
    const given = readLimitFlags(flags)
    const server = await client()
    const before = await definitionOf(server, key)
    if (before === null && given['kind'] === undefined) {
      throw misuse(
        `--kind: expected one of ${LIMIT_KINDS.join(', ')}; there is no limit ${key} yet`,
      )
    }
    const definition = { ...before, ...given, key } as LimitDefinition
    const { limit } = await server.call('limits.define', { limit: definition })
    print(limit, limitText(limit))
    return EXIT.ok
  },
})

async function definitionOf(server: NodeClient, key: string): Promise<LimitDefinition | null> {
  try {
    const { limit } = await server.call('limits.get', { key })
    const { definition, pending_decrease_to: capacity } = limit
    // A lower capacity that still waits to act is what was wanted last.
    return capacity === null ? definition : ({ ...definition, capacity } as LimitDefinition)
  } catch (error) {
    if ((error as { code?: string }).code === 'NotFound') return null
    throw error
  }
}
