import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { type LeaseId, publicKeyOf, toHex } from '@fairlead/core'
import { issueCertificate, issueRoot } from '@fairlead/core/internal'
import { TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  attestProvider,
  type Job,
  NodeClient,
  type ProverOptions,
  type RemoteWorkerOptions,
  type Worker,
} from '../src/index.ts'
import { proofOf } from '../src/prover/proof-of.ts'
import { ServerRig } from './server-rig.ts'

const ATLAS = 'provider:atlas'
const SECRET = Buffer.alloc(32, 7)
const ROOT_SECRET = Buffer.alloc(32, 3)
const PUBLIC_KEY = toHex(publicKeyOf(SECRET))
const DAY = 86_400_000
const START = Math.floor(Date.now() / 1_000) * 1_000
const VALID = { notBefore: START - DAY, notAfter: START + DAY }
const ROOT = issueRoot({
  subject: 'root',
  signedBy: ROOT_SECRET,
  notBefore: START - DAY,
  notAfter: START + 10 * DAY,
})
const FUND = {
  queue: {
    completion: { ai_verification: 'proof', quantum_verification: 'proof' },
    retries: { attempt_max: 1 },
  },
  registry: {
    attestation_classes: {
      enclave: {
        kinds: ['ai', 'quantum'],
        roots: [`0x${createHash('sha256').update(ROOT).digest('hex')}`],
      },
    },
  },
}

let rig: ServerRig
let keyFile: string
let folder: string
const errors: { readonly error: unknown; readonly job: Job | null }[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-prover-'))
  keyFile = join(folder, 'provider.key')
  writeFileSync(keyFile, `ed25519 ${SECRET.toString('hex')}\n`)
  errors.length = 0
})
afterEach(async () => {
  await rig.close()
  rmSync(folder, { recursive: true })
})

function chain(validity = VALID): Uint8Array[] {
  const issued = { issuer: 'root', signedBy: ROOT_SECRET, isCa: false, subject: 'gpu' }
  return [issueCertificate({ ...issued, publicKey: publicKeyOf(SECRET), ...validity }), ROOT]
}

/** A worker for ai and quantum work on the line, that proves what it does. */
function proving(
  handler: (job: Job<'ai' | 'quantum'>) => unknown = () => 'done',
  prover: Partial<ProverOptions> = {},
  more: Partial<RemoteWorkerOptions<'ai' | 'quantum', unknown>> = {},
): Worker {
  const options = {
    kinds: ['ai', 'quantum'],
    prover: { keyFile, ...prover },
    onError: (error: unknown, job: Job | null) => errors.push({ error, job }),
    ...more,
  }
  return rig.worker(handler as never, options as never)
}

async function enqueueAi(): Promise<string> {
  return (await rig.client.aiEnqueue('llama3-8b', 'hello', { max_tokens: 300 })).task_id
}

const provider = async () =>
  (await rig.client.call('aicf.getProvider', { provider_id: ATLAS })).provider

describe('a worker that proves', () => {
  it('PROVE-1: registers its provider with the key, and proves what it completes', async () => {
    rig = await ServerRig.open(FUND)
    proving((job) => {
      if (job.kind === 'quantum') job.prove({ traps: { shots: 100, passed: 99 } })
      return `${job.kind} is done`
    })
    const quantum = await rig.client.quantumEnqueue('x', { shots: 10_000, depth_hint: 3 })
    for (const [taskId, units] of [
      [await enqueueAi(), 3],
      [quantum.task_id, 3],
    ] as const) {
      const { record, text } = await rig.client.waitForResult(taskId)
      expect(text).toMatch(/is done$/)
      expect(record).toMatchObject({ units, provider_id: ATLAS, proof_refs: [{}] })
    }
    expect((await provider()).public_key).toBe(PUBLIC_KEY)
    const { claim } = await rig.client.getJob(quantum.task_id)
    expect(claim?.metrics).toMatchObject({ quantum_units: 3, traps_ratio: 0.99 })
    expect(errors).toEqual([])
  })

  it('PROVE-1: an answer that was lost leaves a claim, and is no error', async () => {
    /** The first answer to a proof does not come. */
    class Forgetful extends NodeClient {
      override async call(...asked: Parameters<NodeClient['call']>): Promise<never> {
        if (asked[0] === 'aicf.submitProof') await super.call(...asked)
        return (await super.call(...asked)) as never
      }
    }
    rig = await ServerRig.open(FUND)
    const client = new Forgetful(rig.line.url)
    const worker = client.worker({
      ...{ providerId: ATLAS, kinds: ['ai'], concurrency: 1, drainMs: null },
      prover: { keyFile },
      handler: () => 'done',
      onError: (error) => errors.push({ error, job: null }),
    })
    await rig.client.waitForResult(await enqueueAi())
    await worker.stop()
    await client.close()
    expect(errors).toEqual([])
  })

  it('PROVE-1: a refused proof is told with its job', async () => {
    rig = await ServerRig.open(FUND)
    const told = new Promise<void>((resolve) => {
      proving(
        (job) => job.prove({ unitsPpm: 3_300_001 }),
        {},
        {
          onError: (error, job) => {
            errors.push({ error, job: job as Job | null })
            resolve()
          },
        },
      )
    })
    const taskId = await enqueueAi()
    await told
    expect(errors).toMatchObject([
      { error: { code: 'ClaimMismatch', details: { field: 'units_ppm' } }, job: { jobId: taskId } },
    ])
    expect((await rig.client.getJob(taskId)).job.wait_reason).toBe('proof')
  })

  it('PROVE-1: an attestation that came meanwhile is read, and the proof is sent again', async () => {
    rig = await ServerRig.open(FUND)
    proving()
    await rig.connected()
    await attestProvider(rig.client, {
      ...{ providerId: ATLAS, secretKey: SECRET, class: 'enclave', chain: chain() },
    })
    await rig.client.waitForResult(await enqueueAi())
    expect(errors).toEqual([])
  })

  it('PROVE-1: a worker that stops waits for its proofs', async () => {
    rig = await ServerRig.open(FUND)
    let tell = (): void => {}
    const begun = new Promise<void>((resolve) => {
      tell = resolve
    })
    const worker = proving(() => tell())
    const taskId = await enqueueAi()
    await begun
    await worker.stop()
    expect((await rig.client.getJob(taskId)).status).toBe('COMPLETED')
  })

  it('PROVE-3: attests its provider at the start, and not again when it comes back', async () => {
    rig = await ServerRig.open(FUND)
    let connects = 0
    let tell = (): void => {}
    const twice = new Promise<void>((resolve) => {
      tell = resolve
    })
    const attestation = { class: 'enclave', chain: chain() }
    proving(() => 'done', { attestation }, { onConnected: () => ++connects === 2 && tell() })
    await rig.connected()
    const { attestation: accepted } = await provider()
    expect(accepted).toMatchObject({ class: 'enclave', not_after: VALID.notAfter })
    rig.line.cut()
    await twice
    await rig.client.waitForResult(await enqueueAi())
    const { entries } = await rig.client.call('audit.list', { limit: 1_000 })
    expect(entries.filter(({ action }) => action === 'providerAttested')).toHaveLength(1)
  })

  it('PROVE-3: a challenge that another worker has replaced is asked for again', async () => {
    let isFirst = true
    /** Another worker of the provider draws a challenge before the first answer. */
    class Rivalled extends NodeClient {
      override async call(...asked: Parameters<NodeClient['call']>): Promise<never> {
        if (asked[0] === 'aicf.attest' && isFirst) {
          isFirst = false
          await super.call('aicf.getChallenge', { provider_id: ATLAS })
        }
        return (await super.call(...asked)) as never
      }
    }
    rig = await ServerRig.open(FUND)
    const client = new Rivalled(rig.line.url)
    const worker = client.worker({
      ...{ providerId: ATLAS, kinds: ['ai'], concurrency: 1, drainMs: null },
      prover: { keyFile, attestation: { class: 'enclave', chain: chain() } },
      handler: () => 'done',
    })
    await rig.connected()
    expect(isFirst).toBe(false)
    expect((await provider()).attestation).toMatchObject({ class: 'enclave' })
    await worker.stop()
    await client.close()
  })

  it('PROVE-3: attests again before the end, and tells if the certificates are the old ones', async () => {
    rig = await ServerRig.open(FUND)
    const clock = new TestClock(START)
    let current = chain()
    const told = new Promise<void>((resolve) => {
      const onError = (error: unknown) => {
        errors.push({ error, job: null })
        resolve()
      }
      const attestation = { class: 'enclave', chain: () => current }
      proving(() => 'done', { attestation }, { clock, onError })
    })
    await rig.happened('providerAttested')
    // A tenth of the time is left at most an hour before the end.
    await Promise.all([clock.advance(DAY - 3_600_000), told])
    expect(errors).toMatchObject([
      { error: { code: 'AttestationError', details: { reason: 'expired' } } },
    ])
    const notAfter = START + 5 * DAY
    current = chain({ ...VALID, notAfter })
    await Promise.all([clock.advance(3_599_000), rig.happened('providerAttested')])
    expect((await provider()).attestation).toMatchObject({ not_after: notAfter })
  })

  it.each([
    ['another key', toHex(publicKeyOf(Buffer.alloc(32, 8)))],
    ['no key', null],
  ])('PROVE-4: ends if its provider has %s, and names both', async (_, public_key) => {
    rig = await ServerRig.open(FUND)
    await rig.client.call('aicf.registerProvider', {
      provider_id: ATLAS,
      ...(public_key === null ? {} : { public_key }),
    })
    const worker = proving()
    const refusal = worker.closed.then(
      () => '',
      ({ code, message }) => `${code}: ${message}`,
    )
    expect(await refusal).toMatch(/^InvalidState: /)
    expect(await refusal).toContain(public_key ?? 'no public key')
    expect(await refusal).toContain(`fairlead providers set-key ${ATLAS} ${PUBLIC_KEY}`)
  })

  it('PROVE-4: the secret is in nothing that a logger would print', async () => {
    rig = await ServerRig.open(FUND)
    const worker = proving(() => 'done', { attestation: { class: 'enclave', chain: chain() } })
    await rig.connected()
    const shown = inspect(worker, { depth: 20, showHidden: true })
    for (const form of ['hex', 'base64'] as const) {
      expect(shown).not.toContain(SECRET.toString(form).slice(0, 20))
    }
    expect(shown).not.toMatch(/07 07 07 07/)
  })
})

describe('a requester', () => {
  it('WIRE-13: reads a claim before it is final, and the result after', async () => {
    rig = await ServerRig.open({ ...FUND, chain: { source: 'blocks', finality_k: 1 } })
    await rig.client.call('aicf.registerProvider', {
      ...{ provider_id: ATLAS, kinds: ['ai'], models: ['*'], public_key: PUBLIC_KEY },
    })
    const taskId = await enqueueAi()
    const early = await rig.client.readResult(taskId, { finality: false }).catch((error) => error)
    expect(early).toMatchObject({ code: 'NoResultYet' })
    let work: Job<'task'> | null = null
    rig.worker(
      (job) => {
        work = job
        return 'done'
      },
      { kinds: ['ai'] as never },
    )
    const claimed = rig.client.waitForResult(taskId, { finality: false })
    await awaitsProof(taskId)
    const { jobId, leaseId } = work as unknown as Job<'ai'>
    const envelope = proofOf(
      {
        ...{ jobId, leaseId: leaseId as LeaseId, kind: 'ai', facts: {}, tookMs: 420 },
        payload: (work as unknown as Job<'ai'>).payload,
        result: { output: Buffer.from('done') },
      },
      { providerId: ATLAS, secretKey: SECRET, chainId: 1n, attestationHash: null },
    )
    const block = (height: number, envelopes: string[]) => ({
      ...{ height, time: Date.now(), miner_id: 'm-1' },
      proofs: envelopes.map((one) => ({ envelope: one, tx_hash: PUBLIC_KEY })),
    })
    await rig.client.call('chain.block', block(7, [toHex(envelope)]))
    const { claim, result } = await claimed
    expect(claim).toMatchObject({ task_id: taskId, status: 'PENDING', block_height: 7 })
    expect(result).toBeNull()
    const final = rig.client.waitForResult(taskId)
    await rig.client.call('chain.block', block(8, []))
    expect((await final).text).toBe('done')
    const both = await rig.client.readResult(taskId, { finality: false })
    expect(both).toMatchObject({ claim: { status: 'FINAL' }, result: { text: 'done' } })
  })

  /** A completion that awaits its proof has no event of its own: ask until it shows. */
  async function awaitsProof(taskId: string): Promise<void> {
    while ((await rig.client.getJob(taskId)).job.wait_reason !== 'proof');
  }
})
