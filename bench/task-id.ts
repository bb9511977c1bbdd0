import { parsePolicy, toHex } from '@fairlead/core'
import { acceptRequest } from '@fairlead/core/internal'
import { type Report, repeat, secondsOf } from './bench.ts'
import { callerNumber, jobIdNumber, numbers } from './fixtures.ts'

export const name = 'task-id'
export const question =
  'How many requests with a 1 KiB prompt a second are checked, encoded and hashed?'

const REQUESTS = 50_000
const POLICY = parsePolicy({})

export function run(report: Report): void {
  const bytes = prompts()
  const hex = bytes.map(toHex)
  const txHash = jobIdNumber(1)
  const measure = (what: string, written: readonly (string | Uint8Array)[], key: KeyOf): number =>
    report.measured({
      case: what,
      subject: 'fairlead',
      unit: 'ids/s',
      values: repeat(report, what, () => idsPerSecond(written, key)),
    })
  const inChain = measure('from a chain: tx_hash, bytes', bytes, () => ({ tx_hash: txHash }))
  const ownKey = (i: number) => ({ idempotency_key: `order-${i}` })
  measure('from a library: key, bytes', bytes, ownKey)
  measure('from JSON: key, 0x hex', hex, ownKey)
  // The other forms hash the key as well, and turn hex into bytes; the id itself is this.
  report.bar({ bar: 'ids per second', reached: inChain, atLeast: 100_000 })
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

function prompts(): Uint8Array[] {
  const random = numbers(11)
  return Array.from({ length: 64 }, () => Uint8Array.from({ length: 1_024 }, () => random(256)))
}
