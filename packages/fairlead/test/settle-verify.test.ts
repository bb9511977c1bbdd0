import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { payoutProofOf, type SettledBatch, showPayoutProof, showSettledBatch } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fairlead } from './cli-process.ts'
import { EPOCH, hash32, SettledFund } from './settled.ts'

const A = 'provider:a'
const B = 'provider:b'

let folder: string
let fund: SettledFund
/** Two epochs; in the second a slash takes more than the share of A, and stake of B is paid back. */
let first: SettledBatch
let second: SettledBatch

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-settle-'))
  fund = new SettledFund()
  fund.ledger.stake(A, 10_000n)
  fund.ledger.stake(B, 10_000n)
  fund.claim(A, 1)
  fund.claim(B, 2)
  first = fund.close()
  fund.claim(A, 3, EPOCH + 1)
  fund.ledger.unstake(B, 500n, 0)
  second = fund.close(EPOCH + 1, { [A]: 3_000n })
  write('first.json', showSettledBatch(first))
  write('second.json', showSettledBatch(second))
  write('audit.jsonl', fund.exported())
})
afterEach(() => rmSync(folder, { recursive: true }))

const verify = (...args: string[]) => fairlead(['settle', 'verify', ...args], { cwd: folder })

function write(name: string, content: unknown): void {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  writeFileSync(join(folder, name), text)
}

describe('fairlead settle verify', () => {
  it('SETTLE-19, SETTLE-20: says what was checked of a batch', async () => {
    const { code, out } = await verify('first.json')
    expect({ code, out: out.split('\n') }).toEqual({
      code: 0,
      out: [
        `first.json: epoch 490000, batch ${first.batchId}`,
        '  claims 2 worth 3000, payouts 2 of 3000: providers 2400, miners 450, fund 150, slashed 0',
        '  The batch id, both roots, every line and all totals hold. The close, computed again, gives the same batch.',
        '',
      ],
    })
  })

  it('SETTLE-12: checks a chain of batches, and names a link that is wrong', async () => {
    const good = await verify('first.json', 'second.json')
    expect(good.code).toBe(0)
    expect(good.out).toMatch(/^2 batches, each linked to the one before\.$/m)
    const turned = await verify('second.json', 'first.json')
    expect(turned.code).toBe(1)
    expect(turned.out).toMatch(
      new RegExp(
        `^Wrong: first.json: batch.prev_batch_id: expected ${second.batchId}, found 0x0`,
        'm',
      ),
    )
  })

  it('SETTLE-14: names the first thing that is wrong, and ends with 1', async () => {
    const json = showSettledBatch(first) as { payouts: { miner: number }[] }
    for (const line of json.payouts) line.miner += 1
    write('wrong.json', json)
    const { code, out } = await verify('wrong.json')
    expect(code).toBe(1)
    expect(out).toMatch(
      /^Wrong: wrong\.json: batch\.payouts_root: expected the root of the payouts/,
    )
    const told = JSON.parse((await verify('wrong.json', '--json')).out)
    expect(told).toMatchObject({
      ok: false,
      files: [],
      problem: { file: 'wrong.json', field: 'batch.payouts_root' },
    })
  })

  it('SETTLE-18: follows the payouts of a provider, in a batch and in a file of their own', async () => {
    const { code, out } = await verify('second.json', '--provider', A)
    expect(code).toBe(0)
    expect(out).toMatch(
      /^ {2}provider:a: payouts 1 of 3000, its share 0, slashed 2400, 600 taken from its stake$/m,
    )
    write('own.json', showPayoutProof(payoutProofOf(second, A)))
    const own = await verify('own.json', '--provider', A, '--audit', 'audit.jsonl', '--json')
    expect(JSON.parse(own.out)).toMatchObject({
      ok: true,
      files: [{ recomputed: null, provider: { payouts: 1, share: 0, slashed: 2_400, debit: 600 } }],
      audit: { checked: 4 },
    })
    expect((await verify('first.json', 'own.json', 'second.json')).code).toBe(0)
    expect((await verify('second.json', '--provider', B)).out).toMatch(
      /provider:b: no payouts in this batch, 500 of its stake paid back$/m,
    )
    const other = await verify('own.json', '--provider', B)
    expect(other).toMatchObject({
      code: 1,
      out: expect.stringMatching(/provider_id: expected provider:b/),
    })
    const json = showPayoutProof(payoutProofOf(first, A)) as { payouts: { siblings: object[] }[] }
    json.payouts[0]?.siblings.pop()
    write('cut.json', json)
    expect(await verify('cut.json')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/payouts\[0\]: expected a line that leads to payouts_root/),
    })
  })

  it('SETTLE-20: says why a close was not computed again', async () => {
    write('bare.json', showSettledBatch({ ...first, policy: null }))
    expect((await verify('bare.json')).out).toMatch(/not computed again: the file has no policy/)
    const poor = new SettledFund({ gamma_fund: 700, cap: 'defer' })
    poor.claim(A, 2)
    poor.close()
    poor.claim(A, 2, EPOCH + 1)
    write('later.json', showSettledBatch(poor.close(EPOCH + 1)))
    const later = await verify('later.json')
    expect(later.out).toMatch(/, 2600 stays due$/m)
    expect(later.out).toMatch(/not computed again: lines were due before it/)
  })

  it('SETTLE-16: the audit log bears the batches out', async () => {
    const { code, out } = await verify('first.json', 'second.json', '--audit', 'audit.jsonl')
    expect(code).toBe(0)
    expect(out).toMatch(
      /^Audit log: 4 entries, every link holds\. It bears out each batch\. Head: 4 0x/m,
    )
    write('tail.jsonl', fund.exported(2))
    expect((await verify('second.json', '--audit', 'tail.jsonl')).code).toBe(0)
  })

  it('SETTLE-16: a log that does not bear a batch out is told, with the reason', async () => {
    const told = async (file: string, log: string) => {
      write('log.jsonl', log)
      const { code, out } = await verify('first.json', file, '--audit', 'log.jsonl')
      return { code, problem: out.split('\n').at(-2) }
    }
    const lines = fund.exported().split('\n')
    expect(await told('second.json', lines.slice(0, 2).join('\n'))).toEqual({
      code: 1,
      problem:
        'Wrong: second.json: batch.audit_seq: expected at most 2, where the log ends, found 3.',
    })
    expect((await told('second.json', lines.slice(0, 3).join('\n'))).problem).toBe(
      `Wrong: second.json: epochSettled with ${second.batchId}: expected an entry behind 3, found none.`,
    )
    expect((await told('second.json', fund.exported().replace('engine', 'ann'))).problem).toBe(
      'Wrong: log.jsonl: entry 1: expected the next link, found one that does not follow from the entry before.',
    )
    const other = new SettledFund()
    other.claim(A, 9)
    other.close()
    expect((await told('second.json', other.exported() + lines.slice(2).join('\n'))).code).toBe(1)
  })

  it('SETTLE-16: a log that begins too late is misuse, with the way out', async () => {
    write('tail.jsonl', fund.exported(2))
    const { code, err } = await verify('first.json', '--audit', 'tail.jsonl')
    expect(code).toBe(2)
    expect(err).toMatch(/begins behind entry 1, .*epoch 490000 .*fairlead audit export --after 0/)
  })

  it('SETTLE-17: a file that has no such form is misuse', async () => {
    write('odd.json', { ...showSettledBatch(first), odd: 1 })
    write('text.json', 'nothing')
    for (const [file, message] of [
      ['odd.json', /odd\.json: odd: expected no such field/],
      ['text.json', /text\.json: expected JSON/],
      ['none.json', /cannot read none\.json/],
    ] as const) {
      const { code, out, err } = await verify(file)
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(message)
    }
    expect((await verify()).code).toBe(2)
    expect((await verify('first.json', '--audit', 'none.jsonl')).err).toMatch(
      /--audit: cannot read/,
    )
  })

  it('TERMINAL-1: names in a file do not act on the terminal', async () => {
    const json = showSettledBatch(first) as { claims: { kind: string }[] }
    const [line] = json.claims
    if (line !== undefined) line.kind = '\u001b[31m'
    write('hostile.json', { ...json, batch_id: hash32('x'), ['\u001b[2J']: 1 })
    const { err } = await verify('hostile.json')
    expect(err).not.toContain('\u001b')
  })
})
