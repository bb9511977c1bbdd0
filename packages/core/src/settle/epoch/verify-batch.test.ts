import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { anyEconomics, EPOCH, Fund, hash32 } from '../../../test/any-fund.ts'
import { type AuditEntry, appendAudit, EMPTY_AUDIT } from '../../audit/chain.ts'
import type { ProviderId } from '../../encoding/ids.ts'
import type { Batch } from './batch.ts'
import type { EpochClose } from './close-epoch.ts'
import { type PayoutLine, readPayoutLine, showPayoutLine } from './line.ts'
import { EMPTY_ROOT, merkleProof, merkleRoot } from './merkle.ts'
import {
  batchProblem,
  brokenBatch,
  type ListedBatch,
  unanchoredBatch,
  verifyPayoutLine,
  type WholeBatch,
} from './verify-batch.ts'

function closeOf(lines: number, economics: object = {}): EpochClose & WholeBatch {
  const fund = new Fund(economics)
  for (let n = 0; n < lines; n++) {
    fund.claim(1 + n / 10, { provider: `provider:p${n % 3}` as ProviderId })
  }
  return fund.close() as EpochClose & WholeBatch
}

const JSON_OF = (line: PayoutLine): unknown => JSON.parse(JSON.stringify(showPayoutLine(line)))

describe('SETTLE-13: the tree', () => {
  it('SETTLE-13: the root of nothing is zeros, and of one line its leaf', () => {
    expect(EMPTY_ROOT).toBe(`0x${'00'.repeat(32)}`)
    expect(merkleRoot({ levels: [] })).toBe(EMPTY_ROOT)
    const { payoutTree, batch } = closeOf(1)
    expect(payoutTree.levels).toHaveLength(1)
    expect(merkleRoot(payoutTree)).toBe(batch.payoutsRoot)
    expect(merkleProof(payoutTree, 0)).toEqual([])
  })

  it.each([2, 3, 4, 5, 7, 8, 9, 33])('SETTLE-13: each of %d lines verifies', (count) => {
    const { payouts, payoutTree, batch } = closeOf(count)
    payouts.forEach((line, i) => {
      const siblings = merkleProof(payoutTree, i)
      const read = readPayoutLine(JSON_OF(line))
      expect(read).toEqual(line)
      expect(verifyPayoutLine(read, siblings, batch.payoutsRoot)).toBe(true)
    })
  })

  it('SETTLE-13: an odd node moves up unchanged', () => {
    const { payoutTree } = closeOf(5)
    expect(merkleProof(payoutTree, 4)).toHaveLength(1)
    expect(merkleProof(payoutTree, 0)).toHaveLength(3)
  })
})

describe('SETTLE-14: verifying offline', () => {
  const close = closeOf(6)
  const line = close.payouts[2] as PayoutLine
  const siblings = merkleProof(close.payoutTree, 2)
  const { payoutsRoot } = close.batch

  it.each(Object.keys(showPayoutLine(line)))(
    'SETTLE-14: a line with another %s does not verify',
    (field) => {
      const json = showPayoutLine(line) as Record<string, unknown>
      const value = json[field]
      const changed =
        typeof value === 'number'
          ? value + 1
          : field === 'split'
            ? { ...(value as object), fund: 501 }
            : /^0x/.test(String(value))
              ? hash32(String(value))
              : `${value}x`
      expect(
        verifyPayoutLine(readPayoutLine({ ...json, [field]: changed }), siblings, payoutsRoot),
      ).toBe(false)
    },
  )

  it('SETTLE-14: a sibling that is missing, on the other side, or no hash, does not verify', () => {
    const [first, ...rest] = siblings
    if (first === undefined) throw new Error('a line of six has siblings')
    const side = first.side === 'left' ? ('right' as const) : ('left' as const)
    for (const wrong of [
      rest,
      [{ ...first, side }, ...rest],
      [{ ...first, hash: '0x12' }, ...rest],
      [...siblings, first],
    ]) {
      expect(verifyPayoutLine(line, wrong, payoutsRoot)).toBe(false)
    }
    expect(verifyPayoutLine(line, siblings, EMPTY_ROOT)).toBe(false)
  })

  it.each([
    [null, 'line'],
    [[], 'line'],
    [{ ...showPayoutLine(line), extra: 1 }, 'extra'],
    [{ ...showPayoutLine(line), amount: -1 }, 'amount'],
    [{ ...showPayoutLine(line), amount: '9007199254740993' }, 'amount'],
    [{ ...showPayoutLine(line), units_ppm: 0.5 }, 'units_ppm'],
    [{ ...showPayoutLine(line), task_id: 'x' }, 'task_id'],
    [{ ...showPayoutLine(line), split: null }, 'split'],
    [{ ...showPayoutLine(line), kind: 5 }, 'kind'],
    [{ ...showPayoutLine(line), miner_id: '\ud800' }, 'miner_id'],
  ])('SETTLE-14: a line that is none names the field (%#)', (json, field) => {
    expect(() => readPayoutLine(json)).toThrow(
      expect.objectContaining({ code: 'InvalidParams', details: { field } }),
    )
  })

  it('SETTLE-14: a whole batch is checked against its roots, its totals and its id', () => {
    expect(batchProblem(close)).toBeNull()
    const batch = (changes: Partial<Batch>): WholeBatch => ({
      ...close,
      batch: { ...close.batch, ...changes },
    })
    expect(batchProblem(batch({ epochId: 1 }))).toBe('batch_id')
    expect(batchProblem(batch({ auditHead: 'x' }))).toBe('batch_id')
    expect(batchProblem({ ...close, claims: close.claims.slice(1) })).toBe('claims_root')
    expect(batchProblem({ ...close, payouts: close.payouts.toReversed() })).toBe('payouts_root')
  })

  test('SETTLE-14: every batch that a close makes holds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), anyEconomics, (count, economics) => {
        expect(batchProblem(closeOf(count, economics))).toBeNull()
      }),
      { numRuns: 40 },
    )
  })
})

describe('batches, one after another', () => {
  const fund = new Fund()
  const batches = [0, 1, 2].map((i): ListedBatch => {
    fund.claim(1, { epoch: EPOCH + i })
    const { batch, batchId } = fund.close(EPOCH + i)
    return { batch: batch as Batch, batchId: batchId as string }
  })
  const [first, second, third] = batches as [ListedBatch, ListedBatch, ListedBatch]

  it('SETTLE-12: the chain of ids shows a batch that was left out or changed', () => {
    expect(brokenBatch(batches, EMPTY_ROOT)).toBeNull()
    expect(brokenBatch([second, third], first.batchId)).toBeNull()
    expect(brokenBatch([first, third], EMPTY_ROOT)).toBe(third.batchId)
    const changed = { ...second, batch: { ...second.batch, policyHash: hash32('x') } }
    expect(brokenBatch([first, changed, third], EMPTY_ROOT)).toBe(second.batchId)
  })

  /** An audit log in which each batch is anchored in the entry before its own. */
  function audited(settles: (batchId: string) => boolean = () => true) {
    const entries: AuditEntry[] = []
    const listed: ListedBatch[] = []
    let head = EMPTY_AUDIT
    for (const { batch, batchId } of batches) {
      const record = { at: 1, actor: 'engine', subject: 'x', details: {} }
      const anchor = appendAudit(head, { ...record, action: 'jobCompleted' })
      listed.push({ batchId, batch: { ...batch, auditSeq: anchor.seq, auditHead: anchor.hash } })
      const details = { batchId }
      const action = settles(batchId) ? 'epochSettled' : 'jobCompleted'
      const entry = appendAudit(anchor, { ...record, action, details })
      entries.push(anchor, entry)
      head = entry
    }
    return { entries, listed }
  }

  it('SETTLE-16: the log bears out every batch', () => {
    const { entries, listed } = audited()
    expect(unanchoredBatch(entries, listed)).toBeNull()
    expect(unanchoredBatch(entries.slice(2), listed, entries[1])).toBeNull()
  })

  it('SETTLE-16: another hash at the anchor, or no epochSettled behind it, is told', () => {
    const { entries, listed } = audited((batchId) => batchId !== second.batchId)
    expect(unanchoredBatch(entries, listed)).toBe(second.batchId)
    const good = audited()
    const moved = good.listed.map((one) =>
      one.batchId === third.batchId
        ? { ...one, batch: { ...one.batch, auditHead: hash32('x') } }
        : one,
    )
    expect(unanchoredBatch(good.entries, moved)).toBe(third.batchId)
    expect(unanchoredBatch(good.entries.slice(0, -1), good.listed)).toBe(third.batchId)
  })
})
