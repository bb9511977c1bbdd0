import type { NodeClient } from '@fairlead/client'
import type { LimitDefinition } from '@fairlead/protocol'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { duration, misuse, oneOfWords, wholeNumber } from '../flags.ts'

interface Flags {
  readonly kind?: string
  readonly capacity?: string
  readonly window?: string
  readonly timeout?: string
  readonly burst?: string
  readonly rate?: string
  readonly overage?: string
  readonly unit?: string
  readonly description?: string
}

const KINDS = ['rolling', 'fixed', 'concurrency', 'bucket'] as const

/** `fairlead limits set`. */
export const limitsSet = command<Flags>({
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
    const { limitText } = await import('../show-limits.ts')
    const key = args[0] as string
    const given = readFlags(flags)
    const server = await client()
    const before = await definitionOf(server, key)
    if (before === null && given['kind'] === undefined) {
      throw misuse(`--kind: expected one of ${KINDS.join(', ')}; there is no limit ${key} yet`)
    }
    const definition = { ...before, ...given, key } as LimitDefinition
    const { limit } = await server.call('limits.define', { limit: definition })
    print(limit, limitText(limit))
    return EXIT.ok
  },
})

/** The fields that were given, by their names on the wire. */
function readFlags(flags: Flags): Readonly<Record<string, string | number>> {
  const { kind, capacity, window, timeout, burst, rate, overage, unit, description } = flags
  return {
    ...(kind === undefined ? {} : { kind: oneOfWords('--kind', kind, KINDS) }),
    ...(capacity === undefined
      ? {}
      : { capacity: wholeNumber('--capacity', capacity, { min: 1 }) }),
    ...(window === undefined ? {} : { window_seconds: seconds('--window', window) }),
    ...(timeout === undefined ? {} : { timeout_seconds: seconds('--timeout', timeout) }),
    ...(burst === undefined ? {} : { burst: wholeNumber('--burst', burst, { min: 1 }) }),
    ...(rate === undefined ? {} : { rate: decimal('--rate', rate) }),
    ...(overage === undefined
      ? {}
      : { overage: oneOfWords('--overage', overage, ['debt', 'deny']) }),
    ...(unit === undefined ? {} : { unit }),
    ...(description === undefined ? {} : { description }),
  }
}

async function definitionOf(server: NodeClient, key: string): Promise<LimitDefinition | null> {
  try {
    return (await server.call('limits.get', { key })).limit.definition
  } catch (error) {
    if ((error as { code?: string }).code === 'NotFound') return null
    throw error
  }
}

function seconds(flag: string, text: string): number {
  const ms = duration(flag, text)
  if (ms > 0 && ms % 1_000 === 0) return ms / 1_000
  throw misuse(`${flag}: expected whole seconds, such as 60s, 1h or 1d, got ${text}`)
}

function decimal(flag: string, text: string): number {
  if (/^\d{1,10}(?:\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text)
  throw misuse(`${flag}: expected a number with at most three decimals, such as 0.5, got ${text}`)
}
