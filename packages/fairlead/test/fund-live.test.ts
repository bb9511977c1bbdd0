import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  connect,
  type Job,
  type NodeClient,
  readProviderKey,
  type WireEvent,
  type Worker,
} from '@fairlead/client'
import { fromHex } from '@fairlead/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readChain } from '../dist/attest/read-certificates.js'
import { loadConfig } from '../dist/config/load-config.js'
import { CertificateAuthority, pemOf } from '../dist/demo/fund/authority.js'
import { makeProviderKey } from '../dist/keys/make-provider-key.js'
import { type Serving, startServing } from '../dist/serve/start-serving.js'
import { openTokens } from '../dist/tokens.js'
import { fairlead } from './cli-process.ts'

const HONEST = 'provider:honest'
const CHEAT = 'provider:cheat'
const EPOCH_SECS = 2
const STAKE = 60_000
const TAKEN_OUT = 40_000
const SLASH = 30_000

let folder: string
let serving: Serving
let tokens: ReturnType<typeof openTokens>
const clients: NodeClient[] = []
const workers: Worker[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-fund-'))
  const day = 86_400_000
  const now = Math.floor(Date.now() / 1_000) * 1_000
  const authority = new CertificateAuthority('Maker', { notBefore: now - day, notAfter: now + day })
  for (const name of ['honest', 'cheat']) {
    const publicKey = makeProviderKey(join(folder, `${name}.key`))
    const chain = authority.chainFor(name, fromHex(publicKey) as Uint8Array)
    writeFileSync(join(folder, `${name}.pem`), pemOf(chain))
  }
  writeFileSync(join(folder, 'fairlead.yaml'), settings(authority.root))
  const config = loadConfig({ env: {}, cwd: folder })
  tokens = openTokens(config)
  serving = await startServing({ config, tokens, log: 'silent' })
})

afterEach(async () => {
  for (const one of workers.splice(0)) await one.stop({ graceMs: 0 })
  for (const one of clients.splice(0)) await one.close()
  await serving.close()
  rmSync(folder, { recursive: true })
})

/** One failed proof of a provider without a good one is enough for a slash. */
function settings(root: Uint8Array): string {
  const fingerprint = `0x${createHash('sha256').update(root).digest('hex')}`
  return `
preset: fund
server: { port: 0 }
queue:
  quotas: { epoch_secs: ${EPOCH_SECS} }
  retries: { attempt_max: 1 }
registry:
  attestation_required: { ai: true, quantum: true }
  attestation_classes: { enclave: { kinds: [ai, quantum], roots: ["${fingerprint}"] } }
  min_health: 0
sla:
  min_samples: 1
  slash: { traps: { samples: 100 }, fails: { samples: 1000 } }
  severity: { critical: { slash: ${SLASH}, cooldown_epochs: 4, jail_epochs: 2 } }
`
}

function client(role: 'requester' | 'provider' | 'operator', subject: string): NodeClient {
  const made = connect(serving.url, { token: tokens.create({ role, subject }).token })
  clients.push(made)
  return made
}

/** A worker with the key and the certificates of its provider. Of the cheat all traps fail, once it may go on. */
async function worker(
  name: 'honest' | 'cheat',
  mayGoOn: Promise<void> = Promise.resolve(),
): Promise<NodeClient> {
  const own = client('provider', `provider:${name}`)
  const prove = async (job: Job<'ai' | 'quantum'>): Promise<string> => {
    const passed = name === 'honest' ? 100 : 50
    await mayGoOn
    if (job.kind === 'quantum') job.prove({ traps: { shots: 100, passed } })
    return `done by ${name}`
  }
  await new Promise<void>((resolve) => {
    const worker = own.worker({
      providerId: `provider:${name}`,
      kinds: ['ai', 'quantum'],
      models: name === 'honest' ? ['*'] : ['unknown'],
      concurrency: 2,
      drainMs: null,
      prover: {
        keyFile: join(folder, `${name}.key`),
        attestation: { class: 'enclave', chain: () => readChain([join(folder, `${name}.pem`)]) },
      },
      handler: prove,
      onConnected: resolve,
      onNotice: () => {},
      onError: () => {},
    })
    workers.push(worker)
  })
  return own
}

/** Events, each of which can be waited for. */
class Heard {
  readonly events: WireEvent[] = []
  #wake = (): void => {}

  async listen(from: NodeClient): Promise<void> {
    const iterator = from.events()
    await iterator.ready()
    void (async () => {
      for await (const event of iterator) {
        this.events.push(event)
        this.#wake()
      }
    })()
  }

  async until<T>(find: (events: readonly WireEvent[]) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this.events)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  claimsSettled(): number {
    const settled = this.of('epochSettled').map(({ totals }) => totals as { claims: number })
    return settled.reduce((sum, { claims }) => sum + claims, 0)
  }

  of<Type extends WireEvent['type']>(type: Type): (WireEvent & { type: Type })[] {
    return this.events.filter((event) => event.type === type) as (WireEvent & { type: Type })[]
  }
}

const ai = (from: NodeClient) => from.aiEnqueue('llama3-8b', 'hello', { max_tokens: 300 })
const quantum = (from: NodeClient) =>
  from.quantumEnqueue('circuit', { shots: 1_000, depth_hint: 20 })

it('WIRE-17: a fund from the first certificate to a payout that is verified offline', async () => {
  const operator = client('operator', 'olga')
  const requester = client('requester', 'alice')
  const heard = new Heard()
  await heard.listen(operator)
  let goOn = (): void => {}
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const ownOf = { [HONEST]: await worker('honest'), [CHEAT]: await worker('cheat', mayGoOn) }
  for (const provider_id of [HONEST, CHEAT]) {
    const { provider } = await operator.call('aicf.getProvider', { provider_id })
    expect(provider).toMatchObject({ status: 'REGISTERED', attestation: { class: 'enclave' } })
  }
  // Both offer both kinds. The cheat alone has a stake at first, and takes most of it out while it works.
  await operator.call('aicf.stake', { provider_id: CHEAT, amount_u64: STAKE + 10_000 })
  const { task_id } = await quantum(requester)
  await heard.until(() => heard.of('jobAssigned').find(({ jobId }) => jobId === task_id))
  const left = await ownOf[CHEAT].call('aicf.unstake', {
    provider_id: CHEAT,
    amount_u64: TAKEN_OUT + 10_000,
  })
  expect(left.stake_u64).toBe(20_000)
  goOn()

  // The close of that epoch takes the rest of the stake, and some of what is on its way out.
  const slashed = await heard.until(() => heard.of('providerSlashed')[0])
  expect(slashed).toMatchObject({ providerId: CHEAT, reason: 'traps', penalty: SLASH })
  const cheat = await operator.call('aicf.getProvider', { provider_id: CHEAT })
  expect(cheat.provider).toMatchObject({ status: 'JAILED', stake_u64: 0 })
  expect(cheat.provider.unstaking).toMatchObject([{ amount_u64: 40_000 }])
  expect(cheat.provider.service).toMatchObject([{ kind: 'quantum', band: 'fail', samples: 1 }])
  expect(cheat.provider.offence_epochs).toHaveLength(1)

  // Work for the honest one in two epochs more.
  await operator.call('aicf.stake', { provider_id: HONEST, amount_u64: STAKE })
  for (const jobs of [2, 4]) {
    const receipts = await Promise.all([ai(requester), quantum(requester)])
    for (const { task_id } of receipts) {
      const { result, claim } = await requester.waitForResult(task_id, { finality: false })
      expect(claim).toMatchObject({ task_id, provider_id: HONEST, status: 'FINAL' })
      const { text, record } = result ?? (await requester.waitForResult(task_id))
      expect(text).toBe('done by honest')
      expect(record).toMatchObject({
        proof_refs: [{ nullifier: claim?.nullifier }],
        finalized_height: claim?.finalized_height,
      })
    }
    await heard.until(() => (heard.claimsSettled() === jobs ? true : undefined))
  }
  expect(heard.of('epochSettled').length).toBeGreaterThanOrEqual(3)

  // The books follow from the batches.
  const { settlements } = await operator.call('aicf.listSettlements', {})
  const sum = (of: 'provider' | 'miner' | 'fund' | 'paid') =>
    settlements.reduce((all, { batch }) => all + Number(batch.totals[of]), 0)
  const available = async (account: string) =>
    Number((await operator.call('aicf.getBalance', { account })).available)
  expect(await available(HONEST)).toBe(sum('provider'))
  expect(await available('miner:operator')).toBe(sum('miner'))
  expect(await available('fund')).toBe(sum('fund'))
  expect(sum('fund')).toBeGreaterThan(SLASH)
  expect(await available('issuance')).toBe(-sum('paid'))
  expect(await available('external')).toBe(-(2 * STAKE + 10_000))
  expect((await ownOf[HONEST].call('aicf.getBalance', {})).available).toBe(sum('provider'))

  // Anybody verifies it from files.
  const run = (...args: string[]) =>
    fairlead(args, {
      cwd: folder,
      env: {
        FAIRLEAD_URL: serving.url,
        FAIRLEAD_TOKEN: tokens.create({ role: 'operator', subject: 'olga' }).token,
      },
    })
  const exported = await run('settle', 'export', '--out', 'settled', '--audit', '--json')
  expect({ code: exported.code, err: exported.err }).toEqual({ code: 0, err: '' })
  const { files, audit_file } = JSON.parse(exported.out) as { files: string[]; audit_file: string }
  expect(files).toHaveLength(settlements.length)
  const verified = await run('settle', 'verify', ...files, '--audit', audit_file)
  expect({ code: verified.code, out: verified.out }).toMatchObject({ code: 0 })
  expect(verified.out).toContain('It bears out each batch')
  const last = settlements[0]?.batch.epoch_id as number
  await run('settle', 'export', String(last), '--provider', HONEST, '--out', 'mine')
  const mine = `mine/payouts-honest-${last}.json`
  expect((await run('settle', 'verify', mine, '--provider', HONEST)).code).toBe(0)
  const forged = readFileSync(join(folder, mine), 'utf8').replace(
    /"provider": \d+/,
    '"provider": 1',
  )
  writeFileSync(join(folder, 'forged.json'), forged)
  expect((await run('settle', 'verify', 'forged.json')).code).toBe(1)

  // What was paid elsewhere leaves the books, once.
  const payout = ['payout', 'record', HONEST, '100', '--reference', 'transfer-1', '--json']
  for (const _ of [1, 2]) {
    const recorded = await run(...payout)
    expect(JSON.parse(recorded.out)).toEqual({ account: HONEST, available: sum('provider') - 100 })
  }
  const secret = Buffer.from(readProviderKey(join(folder, 'honest.key'))).toString('hex')
  expect(JSON.stringify(heard.events)).not.toContain(secret)
})
