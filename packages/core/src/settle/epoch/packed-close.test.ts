import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { anyEconomics, anyFundStep, EPOCH, Fund, runFund } from '../../../test/any-fund.ts'
import { closeEpoch } from './close-epoch.ts'
import { buffersOf, packClose, unpackClose } from './packed-close.ts'

/** Each close of a history, packed in another thread and unpacked here. */
class PackingFund extends Fund {
  override close(...args: Parameters<Fund['close']>): ReturnType<Fund['close']> {
    const [epochId = EPOCH, { slashes = [], nowMs = 0 } = {}] = args
    const terms = {
      epochId,
      nowMs: nowMs || (epochId + 1) * 3_600_000,
      policy: this.policy,
      slashes,
    }
    const head = { auditSeq: 1, auditHead: `0x${'0a'.repeat(32)}` }
    const input = this.epochs.freeze({ ...terms, ...head }, this.ledger)
    if (input === null) throw new Error(`epoch ${epochId} is closed`)
    const sent = structuredClone(input)
    const packed = packClose(sent, closeEpoch(sent))
    const buffers = buffersOf(packed)
    const close = unpackClose(input, structuredClone(packed, { transfer: buffers }))
    expect(close).toEqual(closeEpoch(input))
    expect(buffers.every(({ byteLength }) => byteLength === 0)).toBe(true)
    this.epochs.apply(close, this.ledger)
    return close
  }
}

test('SETTLE-15: a close that comes back packed from another thread is the same', () => {
  const history = fc.array(anyFundStep, { maxLength: 40 })
  fc.assert(
    fc.property(history, anyEconomics, (steps, economics) => {
      runFund(new PackingFund(economics), steps)
    }),
    { numRuns: 100 },
  )
})

it('SETTLE-15: the lines of an unpacked close are those of its input, not copies', () => {
  const fund = new Fund()
  const line = fund.claim(1)
  const terms = { epochId: EPOCH, nowMs: (EPOCH + 1) * 3_600_000, policy: fund.policy, slashes: [] }
  const head = { auditSeq: 1, auditHead: `0x${'0a'.repeat(32)}` }
  const input = fund.epochs.freeze({ ...terms, ...head }, fund.ledger)
  if (input === null) throw new Error('it is open')
  const close = unpackClose(input, structuredClone(packClose(input, closeEpoch(input))))
  expect(close.claims[0]).toBe(line)
  expect(close.payouts[0]?.claim).toBe(line)
  expect(() => unpackClose({ ...input, lines: [] }, packClose(input, closeEpoch(input)))).toThrow(
    /belongs to its input/,
  )
})
