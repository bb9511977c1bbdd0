import { parsePolicy, toHex } from '@fairlead/core'
import { acceptRequest } from '@fairlead/core/internal'
import { type Report, secondsOf } from './bench.ts'
import { callerNumber, jobIdNumber, numbers } from './fixtures.ts'
import { inTurns, medianRatio } from './in-turns.ts'
import { sha3 } from './yardsticks/sha3.ts'

export const name = 'task-id'
export const question =
  'How many requests with a 1 KiB prompt a second are checked, encoded and hashed?'

const IN_CHAIN = 'from a chain: tx_hash, bytes'
const BARE_SHA3 = 'bare SHA3 of the prompts'
const REQUESTS = 20_000
const POLICY = parsePolicy({})

export async function run(report: Report): Promise<void> {
  const bytes = prompts()
  const hex = bytes.map(toHex)
  const txHash = jobIdNumber(1)
  const ownKey = (i: number) => ({ idempotency_key: `order-${i}` })
  const figures = await inTurns(report, {
    what: 'ids',
    measures: {
      'from JSON: key, 0x hex': () => idsPerSecond(hex, ownKey),
      'from a library: key, bytes': () => idsPerSecond(bytes, ownKey),
      [IN_CHAIN]: () => idsPerSecond(bytes, () => ({ tx_hash: txHash })),
      [BARE_SHA3]: () => hashesPerSecond(bytes),
    },
  })
  for (const [what, values] of Object.entries(figures)) {
    const subject = what === BARE_SHA3 ? 'yardstick' : 'fairlead'
    report.measured({ case: what, subject, unit: 'ids/s', values })
  }
  // The other forms hash the key as well, and turn hex into bytes; the id itself is this.
  const reached = medianRatio(figures[IN_CHAIN], figures[BARE_SHA3])
  report.bar({ bar: 'ids per second, to bare SHA3 of the prompts', reached, atLeast: 0.3 })
}

type KeyOf = (i: number) => Readonly<Record<string, string>>

function idsPerSecond(written: readonly (string | Uint8Array)[], key: KeyOf): number {
  const caller = callerNumber(1)
  let ids = 0
  const seconds = secondsOf(() => {
    for (let i = 0; i < REQUESTS; i++) {
      const { jobId } = acceptRequest(
        {
          kind: 'ai',
          caller,
          chain_id: 1,
          enqueue_block_height: 1_760_000_000,
          ...key(i),
          max_fee_u64: 2_500_000,
          payload: {
            model: 'llama3-8b',
            prompt: written[i % written.length],
            max_tokens: 256,
            temperature: 0.7,
          },
        },
        POLICY,
      )
      ids += jobId.length === 66 ? 1 : 0
    }
  })
  if (ids !== REQUESTS) throw new Error('an id was not made')
  return REQUESTS / seconds
}

/** The prompts alone: no request, no checks, no encoding. */
function hashesPerSecond(written: readonly Uint8Array[]): number {
  let bytes = 0
  const seconds = secondsOf(() => {
    for (let i = 0; i < REQUESTS; i++)
      bytes += sha3(written[i % written.length] as Uint8Array).length
  })
  if (bytes !== 32 * REQUESTS) throw new Error('a hash was not made')
  return REQUESTS / seconds
}

function prompts(): Uint8Array[] {
  const random = numbers(11)
  return Array.from({ length: 64 }, () => Uint8Array.from({ length: 1_024 }, () => random(256)))
}
