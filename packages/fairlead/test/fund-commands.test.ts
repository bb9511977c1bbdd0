import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient } from '@fairlead/client'
import { fromHex } from '@fairlead/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CertificateAuthority, pemOf } from '../dist/demo/fund/authority.js'
import { CliProcess, type CliServer, fairlead, serve } from './cli-process.ts'

const GPU = 'provider:gpu'
const DAY = 86_400_000

let folder: string
let server: CliServer
let client: NodeClient
const workers: CliProcess[] = []
const keys: Record<string, string> = {}

const run = (...args: string[]) =>
  fairlead(args, { cwd: folder, env: server && { FAIRLEAD_URL: server.url } })

async function ok(...args: string[]): Promise<string> {
  const { code, out, err } = await run(...args)
  expect({ args, code, err }).toEqual({ args, code: 0, err: '' })
  return out
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-fund-commands-'))
  const now = Math.floor(Date.now() / 1_000) * 1_000
  const authority = new CertificateAuthority('Maker', { notBefore: now - DAY, notAfter: now + DAY })
  writeFileSync(join(folder, 'root.der'), authority.root)
  for (const name of ['gpu', 'two']) {
    const { public_key } = JSON.parse(await ok('keys', 'new', '--out', `${name}.key`, '--json'))
    keys[name] = public_key as string
    const chain = authority.chainFor(name, fromHex(public_key) as Uint8Array)
    writeFileSync(join(folder, `${name}.pem`), pemOf(chain))
  }
  const roots = ['root.der', '--class', 'enclave', '--kind', 'quantum']
  writeFileSync(join(folder, 'roots.yaml'), await ok('attest', 'roots', ...roots))
  writeFileSync(
    join(folder, 'fairlead.yaml'),
    'preset: fund\nattestation: { roots: roots.yaml }\nqueue: { quotas: { epoch_secs: 1 } }\n',
  )
  server = await serve(folder)
  client = connect(server.url)
})
afterAll(async () => {
  for (const worker of workers) {
    worker.kill('SIGTERM')
    await worker.ended
  }
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

describe('the commands of a fund', () => {
  it('PROVE-5: a program proves its work, and never sees the key', async () => {
    const program = join(folder, 'work.mjs')
    writeFileSync(
      program,
      `import { writeFileSync } from 'node:fs'
       const { FAIRLEAD_PROOF_FILE: file, FAIRLEAD_PROVIDER_KEY: key = 'no key' } = process.env
       writeFileSync(file, JSON.stringify({ traps: { shots: 100, passed: 99 } }))
       console.log(key)`,
    )
    const line = readFileSync(join(folder, 'gpu.key'), 'utf8')
    const own = ['--provider', GPU, '--kind', 'quantum', '--url', server.url]
    const attested = ['--attest', 'enclave', '--chain', join(folder, 'gpu.pem')]
    const worker = new CliProcess(
      ['worker', '--exec', `"${process.execPath}" "${program}"`, ...own, ...attested],
      { env: { FAIRLEAD_PROVIDER_KEY: line } },
    )
    workers.push(worker)
    await worker.says(/is served by/)
    expect(await ok('stake', GPU, '60000')).toBe(`${GPU} has a stake of 60000.\n`)
    const { task_id } = await client.quantumEnqueue('x', { shots: 10_000, depth_hint: 20 })
    const { text, record } = await client.waitForResult(task_id)
    expect(text).toBe('no key\n')
    expect(record).toMatchObject({ units: 20, proof_refs: [{ proof_type: 'QUANTUM_V1' }] })
  })

  it('WIRE-15: epochs are listed, shown and closed', async () => {
    const events = client.events({ afterSeq: 0, topics: ['epochSettled'] })
    const { value } = await events.next()
    await events.return?.(undefined)
    const { epochId, batchId } = value as { epochId: number; batchId: string }
    expect(JSON.parse(await ok('settle', 'list', '--json'))).toMatchObject([
      { batch_id: batchId, batch: { epoch_id: epochId, totals: { claims: 1 } } },
    ])
    expect(await ok('settle', 'list')).toContain(`${epochId}  ${batchId.slice(0, 18)}`)
    const shown = await ok('settle', 'show', String(epochId))
    expect(shown).toContain(batchId)
    // 20 units at 5,000, times 1.5 for the depth; 70 % of that are the provider's.
    expect(shown).toMatch(/provider:gpu +1 +150000 +150000 +105000 +0 +0 +0/)
    expect(await ok('settle', 'close', String(epochId))).toContain(batchId.slice(0, 18))
    const none = await run('settle', 'show', '1')
    expect(none).toMatchObject({ code: 3, out: '' })
    expect(none.err).toContain('there is no batch of epoch 1')
  })

  it('WIRE-14: shows an account and a provider, and takes stake out', async () => {
    expect(await ok('unstake', GPU, '10000')).toContain(`${GPU} has a stake of 50000 left.`)
    const balance = await ok('balance', GPU)
    expect(balance).toMatch(/^provider:gpu\navailable +105000\n/)
    expect(balance).toMatch(/stake +50000\nunstaking +10000, can be slashed until 20/)
    expect(await ok('balance', 'fund')).toBe('fund\navailable  7500\n')
    const provider = await ok('providers', 'show', GPU)
    expect(provider).toContain(keys['gpu'] as string)
    expect(provider).toMatch(/attested +as enclave, until 20/)
    expect(provider).toMatch(/band, quantum +silver: p95 \d+ ms a unit, 0.00 % failures/)
    const wrong = await run('unstake', GPU, '1e3')
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.err).toContain('<amount>: expected a whole number of at least 1')
    expect((await run('unstake', GPU, '50001')).err).toContain('has a stake of 50000')
  })

  it('WIRE-14: attests a provider by hand, after an operator has set its key', async () => {
    const two = { provider_id: 'provider:two', kinds: ['quantum' as const] }
    await client.call('aicf.registerProvider', two)
    const attest = ['attest', '--provider', 'provider:two', '--class', 'enclave']
    const own = ['--chain', 'two.pem', '--prover-key', 'two.key']
    const refused = await run(...attest, ...own)
    expect(refused).toMatchObject({ code: 3 })
    expect(refused.err).toContain("the leaf's key is not the key of the provider")
    await ok('providers', 'set-key', 'provider:two', keys['two'] as string)
    expect(await ok(...attest, ...own)).toMatch(/^provider:two is attested as enclave until 20/)
    expect((await run(...attest, '--chain', 'two.pem')).err).toContain('FAIRLEAD_PROVIDER_KEY')
    expect((await run(...attest)).err).toContain('--chain: expected a file')
  })

  it('WIRE-15: a payout needs its name', async () => {
    expect(await run('payout', 'record', GPU, '5')).toMatchObject({ code: 2 })
    const record = ['payout', 'record', GPU, '5000', '--reference', 'r-1']
    expect(await ok(...record)).toBe(`${GPU} has 100000 left.\n`)
    expect(await ok(...record)).toBe(`${GPU} has 100000 left.\n`)
    expect((await run('payout', 'record', GPU, '6000', '--reference', 'r-1')).code).toBe(3)
  })
})
