import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BatchChain,
  PAYOUTS_FORMAT,
  parsePolicy,
  payoutProofOf,
  readSettlement,
  showPayoutProof,
  showSettledBatch,
} from '@fairlead/core'
import { type Band, priceClaim } from '@fairlead/core/internal'
import { describe, expect, it } from 'vitest'
import { fairlead } from './cli-process.ts'
import { EPOCH, SettledFund } from './settled.ts'

const docs = join(import.meta.dirname, '../../../docs')
const page = readFileSync(join(docs, 'fund.md'), 'utf8')
const [ANNA, BERT, CLEO] = ['provider:anna', 'provider:bert', 'provider:cleo']
const POLICY = parsePolicy({}, 'fund')

/** The fund of the page, as its text tells it. */
const fund = new SettledFund({ gamma_fund: 12_000, cap: 'defer' }, 'example b')
fund.ledger.stake(ANNA, 10_000n)
fund.ledger.stake(BERT, 12_000n)
fund.ledger.stake(CLEO, 60_000n)
fund.ledger.unstake(CLEO, 5_000n, 0)
const lines = [
  fund.claim(ANNA, 3.25, EPOCH, { band: 'gold' }),
  fund.claim(BERT, 4, EPOCH, { band: 'bronze' }),
  fund.claim(CLEO, 1, EPOCH, { kind: 'quantum', depthHint: 20 }),
  fund.claim(ANNA, 2, EPOCH + 1),
]
const first = fund.close(EPOCH, { [BERT]: 10_000n })
const second = fund.close(EPOCH + 1)
const NAMES = new Map(lines.map(({ claimKey }, i) => [claimKey, ['A1', 'B1', 'C1', 'A2'][i]]))

type Row = readonly string[]

/** The rows of the table behind a line of the page. */
function tableBehind(title: string): Row[] {
  const rows = page.slice(page.indexOf(title)).split('\n')
  const start = rows.findIndex((line) => line.startsWith('| ---')) + 1
  const end = rows.findIndex((line, i) => i >= start && !line.startsWith('|'))
  return rows.slice(start, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const written = (amount: number | bigint) => amount.toLocaleString('en')

describe('docs/fund.md', () => {
  it('SETTLE-1: the worth of each claim follows from its row', () => {
    const rows = tableBehind('**The claims.**')
    expect(rows).toHaveLength(4)
    for (const [i, [name, provider, kind, units, depth, band, epoch, gross]] of rows.entries()) {
      const work = { unitsPpm: BigInt(Number(units) * 1_000_000), band: band as Band, model: 'm' }
      const hint = depth === '–' ? 0 : Number(depth)
      const priced = priceClaim({ ...work, kind: kind as 'ai', depthHint: hint }, POLICY.economics)
      const line = lines[i]
      expect({ name, gross }).toEqual({
        name: NAMES.get(line?.claimKey ?? ''),
        gross: written(priced.gross),
      })
      expect([provider, epoch]).toEqual([line?.providerId, written(line?.epochId ?? 0)])
      expect(line?.gross).toBe(priced.gross)
    }
  })

  it('SETTLE-3, SETTLE-7, SETTLE-9: the payouts are those of the closes', () => {
    const rows = [first, second].flatMap(({ batch, payouts }) =>
      payouts.map(({ claim, paidBefore, amount, provider, miner, fund: rest, slashed }) => [
        written(batch.epochId),
        NAMES.get(claim.claimKey),
        ...[paidBefore, amount, provider, miner, rest, slashed].map(written),
      ]),
    )
    expect(tableBehind('**The payouts.**')).toEqual(rows)
  })

  it('LEDGER-1, LEDGER-2: the balances are those of the books, and add up to 0', () => {
    const { balances } = fund.ledger.state()
    const rows = tableBehind('**The books.**')
    expect(rows.map(([account, balance]) => [account, balance])).toEqual(
      balances.map(([account, balance]) => [`\`${account}\``, written(balance).replace('-', '−')]),
    )
    expect(balances.reduce((sum, [, balance]) => sum + balance, 0n)).toBe(0n)
  })

  it('SLA-3, SLA-7, SETTLE-1, SETTLE-3: the tables of the text have the defaults', () => {
    const { economics, sla } = POLICY
    const percent = (ppm: number) => `${ppm / 10_000} %`
    expect(tableBehind('## Bands').slice(0, 3)).toEqual(
      (['gold', 'silver', 'bronze'] as const).map((band) => {
        const { p95Ms, failPpm, availabilityPpm } = sla.bands[band]
        const limits = [
          `≤ ${p95Ms / 1_000} s`,
          `≤ ${percent(failPpm)}`,
          `≥ ${percent(availabilityPpm)}`,
        ]
        return [band, ...limits, percent(economics.qPpm[band])]
      }),
    )
    expect(tableBehind('## Prices')).toEqual(
      (['ai', 'quantum'] as const).map((kind) => {
        const { provider, miner, fund: rest } = economics.splitBps[kind]
        return [kind, ...[provider, miner, rest].map((bps) => percent(100 * bps))]
      }),
    )
    expect(tableBehind('## Slashes').map((row) => row.slice(0, 2))).toEqual(
      Object.entries(sla.severity).map(([severity, { slash }]) => [severity, written(slash)]),
    )
  })

  it('SETTLE-12: the totals in the text are those of the batches', () => {
    const { totals } = first.batch
    expect(totals).toMatchObject({
      gross: 14_475n,
      budget: 12_000n,
      paid: 12_000n,
      deferred: 2_475n,
    })
    expect(totals).toMatchObject({ slashed: 10_000n, debits: { [BERT]: 7_280n } })
    expect(second.batch.totals).toMatchObject({ gross: 2_000n, paid: 4_475n, deferred: 0n })
    for (const sum of ['14,475', '12,000', '2,475', '10,000', '7,280', '4,720'])
      expect(page).toContain(sum)
    expect(fund.ledger.staked(BERT).stake).toBe(4_720n)
  })

  it('SETTLE-17, SETTLE-18: the files of the page hold, and are those of this fund', async () => {
    const text = (shown: object) => `${JSON.stringify(shown, null, 2)}\n`
    const files = {
      'batch-490000.json': text(showSettledBatch(first)),
      'batch-490001.json': text(showSettledBatch(second)),
      'payouts-anna.json': text(showPayoutProof(payoutProofOf(first, ANNA))),
      'audit.jsonl': fund.exported(),
    }
    const folder = join(docs, 'fund-example')
    for (const [name, content] of Object.entries(files)) {
      await expect(content).toMatchFileSnapshot(join(folder, name))
    }
    const commands = [...page.matchAll(/^ {4}fairlead (settle verify .*)$/gm)]
    expect(commands).toHaveLength(2)
    for (const [, line = ''] of commands) {
      const { code, err } = await fairlead(line.split(' '), { cwd: folder })
      expect({ line, code, err }).toEqual({ line, code: 0, err: '' })
    }
  })

  it('SETTLE-19, SETTLE-20: a change of any digit in a file is found', () => {
    const verdict = (name: string, text: string) => {
      const chain = new BatchChain()
      const file = readSettlement(JSON.parse(text))
      if (file.format === PAYOUTS_FORMAT) return chain.checkPayouts(file)
      const before = name === 'batch-490001.json' ? chain.checkBatch(first).fault : null
      return before ?? chain.checkBatch(file).fault
    }
    for (const name of ['batch-490000.json', 'batch-490001.json', 'payouts-anna.json']) {
      const text = readFileSync(join(docs, 'fund-example', name), 'utf8')
      expect(verdict(name, text)).toBeNull()
      const digits = [...text.matchAll(/\d/g)].filter((_, i) => i % 7 === 0)
      for (const { 0: digit, index } of digits) {
        const changed = `${text.slice(0, index)}${(Number(digit) + 1) % 10}${text.slice(index + 1)}`
        const isFound = refusal(() => verdict(name, changed)) !== null
        expect({ name, index, isFound }).toEqual({ name, index, isFound: true })
      }
    }
  })
})

/** A form that cannot be read is as good as a fault. */
function refusal<Fault>(check: () => Fault): Fault | Error {
  try {
    return check()
  } catch (error) {
    return error as Error
  }
}
