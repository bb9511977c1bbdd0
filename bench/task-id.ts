import { acceptRequest, parsePolicy, toHex } from '@fairlead/core'
import { type Report, repeat, secondsOf } from './bench.ts'
import { callerNumber, numbers } from './fixtures.ts'

export const name = 'task-id'
export const question =
  'How many requests with a 1 KiB prompt a second are checked, encoded and hashed?'

const REQUESTS = 50_000
const POLICY = parsePolicy({})

export function run(report: Report): void {
  const bytes = prompts()
  const measure = (what: string, written: readonly (string | Uint8Array)[]): number =>
    report.measured({
      case: what,
      subject: 'fairlead',
      unit: 'ids/s',
      values: repeat(report, what, () => idsPerSecond(written)),
    })
  const hex = measure('prompt as JSON carries it (0x hex)', bytes.map(toHex))
  measure('prompt as CBOR carries it (bytes)', bytes)
  report.bar({ bar: 'ids per second, from the JSON form', reached: hex, atLeast: 100_000 })
}

function idsPerSecond(written: readonly (string | Uint8Array)[]): number {
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
          idempotency_key: `order-${i}`,
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
