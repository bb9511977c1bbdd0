import {
  brokenBatch,
  brokenSeq,
  callerOf,
  FairleadError,
  type JobId,
  type LeaseOffer,
  NO_BATCH,
  type ProviderId,
  type Store,
  sha3Hex,
  verifyPayoutLine,
} from '@fairlead/core'
import { computeClose } from '@fairlead/core/internal'
import { type Engine, openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keyOf, type ProofChanges, proofOf, SHORT_FUND } from './fund-trace.ts'
import { ManualWorker } from './manual-worker.ts'

const EPOCH_MS = 10_000
/** The start of an epoch. */
const START = 1_760_000_000_000
const ATLAS = 'provider:atlas' as ProviderId
const BOREA = 'provider:borea' as ProviderId
const ACME = callerOf('acme')
const OUTPUT = Uint8Array.of(1, 2, 3)
const { completion, ...FUND } = SHORT_FUND
const POLICY = {
  ...FUND,
  economics: {},
  queue: { completion, quotas: { epoch_secs: EPOCH_MS / 1_000 } },
  registry: {
    min_stake: { ai: 1_000, quantum: 1_000 },
    heartbeat_timeout_ms: 86_400_000,
    unstake_delay_secs: 15,
  },
}

let store: MemoryStore
let clock: TestClock
let engine: Engine
let worker: ManualWorker

beforeEach(async () => {
  store = new MemoryStore()
  clock = new TestClock(START)
  await open()
  const offer = { capabilities: new Set(['ai', 'quantum'] as const), models: new Set(['*']) }
  await engine.registerProvider(ATLAS, offer, { publicKey: keyOf(ATLAS) })
  await engine.stake(ATLAS, 5_000n)
  worker = await connect()
})
afterEach(() => engine.close())

async function open(policy: object = POLICY, on: Store = store): Promise<void> {
  engine = await openEngine({ store: on, clock, policy, preset: 'fund' })
  await clock.settle()
}

const connect = () => ManualWorker.connect(engine, ATLAS, { id: 'w', slots: 8 })

/** The process ends in order, or dies; the next one opens the same store. */
async function restart(): Promise<void> {
  await engine.close()
  await open()
  worker = await connect()
}

let made = 0

/** A job that was done; it awaits its proof. */
async function completed(kind: 'ai' | 'quantum' = 'ai'): Promise<LeaseOffer> {
  const payload =
    kind === 'ai'
      ? { model: 'm', prompt: '0x00', max_tokens: 200 }
      : { circuit: '0x00', shots: 10_000, depth_hint: 4 }
  await engine.enqueue({ kind, payload, idempotency_key: `k${++made}` }, { caller: ACME })
  await clock.settle()
  const offer = worker.offered
  await engine.ack({ leaseId: offer.leaseId, by: ATLAS })
  await engine.complete({ leaseId: offer.leaseId, by: ATLAS, output: OUTPUT })
  return offer
}

function proof(
  { jobId: taskId, leaseId, kind }: LeaseOffer,
  changes: ProofChanges = {},
): Uint8Array {
  const units = kind === 'ai' ? 2 : 4
  const work = { taskId, leaseId, kind, providerId: ATLAS, outputDigest: sha3Hex(OUTPUT), units }
  return proofOf(work, changes)
}

const prove = (envelope: Uint8Array, by: ProviderId | null = ATLAS) =>
  engine.fund.submitProof(envelope, by)

const statusOf = async (jobId: JobId) => (await engine.getJob(jobId)).status

const refusal = (code: string, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) })

/** Lets an epoch end, and its close with it. */
async function endEpoch(): Promise<number> {
  const epochId = Math.floor(clock.now() / EPOCH_MS)
  await clock.advance((epochId + 1) * EPOCH_MS - clock.now())
  await clock.settle()
  return epochId
}

describe('a completion with proof', () => {
  it('COMPLETE-2: nobody can read the result before the claim is FINAL', async () => {
    const offer = await completed()
    expect(await statusOf(offer.jobId)).toBe('RUNNING')
    await expect(engine.getResult(offer.jobId)).rejects.toThrow(refusal('NoResultYet'))
    const { claim, finalizedHeight } = await prove(proof(offer))
    expect(finalizedHeight).toBe(START / 1_000)
    expect(await statusOf(offer.jobId)).toBe('COMPLETED')
    expect(await engine.getResult(offer.jobId)).toMatchObject({
      output: OUTPUT,
      claim: {
        proofType: 'AI_V1',
        nullifier: claim.nullifier,
        finalizedHeight,
        unitsPpm: '2000000',
      },
    })
    expect(await engine.fund.claimOf(offer.jobId)).toMatchObject({ status: 'FINAL' })
  })

  it('COMPLETE-2: a restart in between keeps what was completed', async () => {
    const offer = await completed()
    await restart()
    await prove(proof(offer))
    expect((await engine.getResult(offer.jobId)).output).toEqual(OUTPUT)
  })

  it('CLAIM-6: without a proof in time the provider is charged, and the job is tried again', async () => {
    const offer = await completed()
    await clock.advance(2_999)
    expect(await statusOf(offer.jobId)).toBe('RUNNING')
    await clock.advance(1)
    const job = await engine.getJob(offer.jobId)
    expect(job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(engine.view.provider(ATLAS)?.health).toBe(700)
    const failures = await engine.view.read.failures(offer.jobId)
    expect(failures).toMatchObject([{ code: 'proof_invalid' }])
    await expect(prove(Uint8Array.of(0xa0))).rejects.toThrow(refusal('InvalidParams'))
  })

  it('PROOF-5: each refusal has its code, changes nothing, and another proof may follow', async () => {
    const offer = await completed()
    const good = proof(offer)
    await expect(prove(good, BOREA)).rejects.toThrow(refusal('Forbidden'))
    for (const [changes, code, details] of [
      [{ unitsPpm: 1n << 60n }, 'ClaimMismatch', { field: 'units_ppm' }],
      [{ outputDigest: `0x${'7'.repeat(64)}` }, 'ClaimMismatch', { field: 'output_digest' }],
      [{ secretKey: new Uint8Array(32).fill(3) }, 'AttestationError', { reason: 'signature' }],
    ] as const) {
      await expect(prove(proof(offer, changes))).rejects.toThrow(refusal(code, details))
    }
    expect(engine.view.provider(ATLAS)?.health).toBe(1_000)
    await prove(good)
    await expect(prove(good)).rejects.toThrow(refusal('NullifierReused'))
    await expect(prove(proof(await completed(), {}), null)).resolves.toBeDefined()
  })

  it('PROOF-7: failed traps charge the provider at once', async () => {
    const offer = await completed('quantum')
    const failed = proof(offer, { passed: 97n })
    await expect(prove(failed)).rejects.toThrow(refusal('AttestationError', { reason: 'traps' }))
    expect(engine.view.provider(ATLAS)?.health).toBe(700)
    expect(await statusOf(offer.jobId)).toBe('QUEUED')
    await expect(prove(failed)).rejects.toThrow(refusal('InvalidState'))
  })

  it('COMPLETE-2: a job that awaits its proof can be cancelled', async () => {
    const offer = await completed()
    await engine.cancel(offer.jobId, ACME)
    expect(await statusOf(offer.jobId)).toBe('CANCELED')
    await expect(engine.getResult(offer.jobId)).rejects.toThrow(refusal('InvalidState'))
  })
})

describe('a chain', () => {
  const onChain = { ...POLICY, chain: { source: 'blocks', finality_k: 2 } }
  const block = (height: number, ...envelopes: Uint8Array[]) =>
    engine.fund.applyBlock({
      height,
      timeMs: clock.now(),
      minerId: 'm1',
      proofs: envelopes.map((envelope, i) => ({
        envelope,
        txHash: `0x${String(i + 1).repeat(64)}`,
      })),
    })

  beforeEach(async () => {
    await engine.setPolicy(onChain, 'fund')
  })

  it('CLAIM-3: proofs come in blocks; a claim is FINAL so many blocks later', async () => {
    const offer = await completed()
    await expect(prove(proof(offer))).rejects.toThrow(refusal('InvalidState'))
    expect(await block(7, proof(offer), Uint8Array.of(0))).toEqual({
      ...{ head: 7, finalHeight: 5, accepted: 1, refused: 1 },
    })
    expect(await engine.fund.claimOf(offer.jobId)).toMatchObject({ status: 'PENDING' })
    await expect(engine.cancel(offer.jobId, ACME)).rejects.toThrow(refusal('InvalidState'))
    await expect(engine.setPolicy(POLICY, 'fund')).rejects.toThrow(
      refusal('InvalidParams', { field: 'chain.source' }),
    )
    await block(8)
    await restart()
    await block(9)
    await expect(block(7)).rejects.toThrow(refusal('InvalidState'))
    expect(engine.fund.blocksRefused).toBe(1)
    expect(await engine.getResult(offer.jobId)).toMatchObject({
      claim: { blockHeight: 7, finalizedHeight: 9, minerId: 'm1' },
    })
  })

  it('CLAIM-3: a block that comes again with nothing new in it is not recorded', async () => {
    await block(7)
    const { end } = store.log
    const answer = { head: 7, finalHeight: 5, accepted: 0, refused: 1 }
    expect(await block(7, Uint8Array.of(0))).toEqual(answer)
    expect(store.log.end).toEqual(end)
    await block(8)
    await restart()
    expect(await block(8)).toEqual({ head: 8, finalHeight: 6, accepted: 0, refused: 0 })
  })

  it('CLAIM-4: a reorganisation drops the claim, and the same lease is proved again', async () => {
    const offer = await completed()
    const envelope = proof(offer)
    await block(7, envelope)
    await block(8)
    await block(7)
    expect(await engine.fund.claimOf(offer.jobId)).toBeNull()
    expect(await statusOf(offer.jobId)).toBe('RUNNING')
    await restart()
    expect(await block(8, envelope)).toMatchObject({ accepted: 1 })
    expect(await engine.timeline(offer.jobId)).toMatchObject([
      { action: 'jobEnqueued' },
      { action: 'jobAssigned' },
      { action: 'jobStarted' },
      { action: 'proofAccepted' },
      { action: 'proofDropped' },
      { action: 'proofAccepted' },
    ])
  })

  it('CLAIM-6: a chain that stands still charges nobody', async () => {
    const offer = await completed()
    await block(7)
    await clock.advance(60_000)
    expect(await statusOf(offer.jobId)).toBe('RUNNING')
    await block(8)
    expect(await statusOf(offer.jobId)).toBe('QUEUED')
  })
})

describe('epochs', () => {
  it('SETTLE-22: an epoch closes by itself after its end, and its payouts verify offline', async () => {
    for (const kind of ['ai', 'quantum'] as const) await prove(proof(await completed(kind)))
    expect(await engine.fund.settledEpochs()).toEqual([])
    const epochId = await endEpoch()
    const [settled, ...others] = await engine.fund.settledEpochs()
    expect(others).toEqual([])
    expect(settled).toMatchObject({
      epochId,
      batch: { totals: { claims: 2, payouts: 2, gross: 22_000n } },
    })
    expect(engine.fund.balanceOf(ATLAS)).toMatchObject({
      available: 15_600n,
      stake: 5_000n,
      due: 0n,
    })
    const whole = await engine.fund.settlement(epochId)
    expect(whole).toMatchObject({ batchId: settled?.batchId, claims: [{}, {}], payouts: [{}, {}] })
    const own = await engine.fund.payouts(ATLAS, epochId)
    for (const { line, siblings } of own?.payouts ?? []) {
      expect(verifyPayoutLine(line, siblings, own?.batch.payoutsRoot as string)).toBe(true)
    }
    expect(own?.payouts).toHaveLength(2)
    expect(sum()).toBe(0n)
  })

  it('SETTLE-22: nothing happened, so nothing is closed', async () => {
    const { lastEventSeq } = engine
    for (let i = 0; i < 3; i++) await endEpoch()
    expect(engine.lastEventSeq).toBe(lastEventSeq)
    expect(await engine.fund.settledEpochs()).toEqual([])
  })

  it('SETTLE-22: an operator closes early what is over, and hears of what is not', async () => {
    await prove(proof(await completed()))
    const current = Math.floor(START / EPOCH_MS)
    await expect(engine.fund.closeEpoch(current)).rejects.toThrow(refusal('InvalidState'))
    expect(await engine.fund.closeEpoch(current - 1)).toBeNull()
    await endEpoch()
    const again = await engine.fund.closeEpoch(current, { actor: 'token:a' })
    expect(again).toMatchObject({ epochId: current })
    expect(await engine.fund.closeEpoch(current)).toEqual(again)
  })

  /** Another engine, whose closes are computed only once they are let go. */
  async function openHeld(): Promise<{ readonly open: () => void; readonly closes: number[] }> {
    await engine.close()
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const closes: number[] = []
    engine = await openEngine({
      store,
      clock,
      policy: POLICY,
      preset: 'fund',
      computeClose: async (input) => {
        closes.push(input.epochId)
        await gate
        return computeClose(input)
      },
    })
    worker = await connect()
    return { open, closes }
  }

  it('SETTLE-22: epochs in which nothing happened are not closed, also between others', async () => {
    const { open, closes } = await openHeld()
    await prove(proof(await completed()))
    const first = await endEpoch()
    await clock.advance(50 * EPOCH_MS)
    await prove(proof(await completed()))
    open()
    const last = await endEpoch()
    expect(last).toBeGreaterThan(first + 49)
    expect(closes).toEqual([first, last])
  })

  it('SETTLE-22: several operators may close the same epoch at once, also during a close', async () => {
    const { open, closes } = await openHeld()
    await prove(proof(await completed()))
    const first = await endEpoch()
    await clock.advance(EPOCH_MS)
    const asked = Promise.all([0, 1, 2].map(() => engine.fund.closeEpoch(first + 1)))
    await clock.settle()
    open()
    expect(await asked).toEqual([null, null, null])
    expect(closes).toEqual([first, first + 1])
  })

  it('SETTLE-22: an epoch that another caller closed is called closed once that is stored', async () => {
    await engine.close()
    const down = new RefusingStore(store)
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    engine = await openEngine({
      store: down,
      clock,
      policy: POLICY,
      preset: 'fund',
      computeClose: async (input) => {
        await gate
        return computeClose(input)
      },
    })
    worker = await connect()
    await prove(proof(await completed()))
    const epochId = await endEpoch()
    let heard: string | null = null
    engine.fund.closeEpoch(epochId).then(
      () => {
        heard = 'closed'
      },
      (error: FairleadError) => {
        heard = error.code
      },
    )
    down.isDown = true
    open()
    await clock.settle()
    expect(heard).not.toBe('closed')
    down.isDown = false
    await clock.advance(5_000)
    await clock.settle()
    expect(await engine.fund.closeEpoch(epochId)).toMatchObject({ epochId })
  })

  it('SETTLE-22: an engine that stops before a close ends does not call the epoch closed', async () => {
    await prove(proof(await completed()))
    await endEpoch()
    await engine.close()
    let end = (): void => {}
    engine = await openEngine({
      store,
      clock,
      policy: POLICY,
      preset: 'fund',
      computeClose: async (input) => {
        await new Promise<void>((resolve) => {
          end = resolve
        })
        return computeClose(input)
      },
    })
    worker = await connect()
    await prove(proof(await completed()))
    const first = await endEpoch()
    await clock.advance(EPOCH_MS)
    const asked = engine.fund.closeEpoch(first + 1)
    await clock.settle()
    const closed = engine.close()
    end()
    await expect(asked).rejects.toThrow(refusal('StoreUnavailable'))
    await closed
  })

  it('SETTLE-12, SETTLE-16: batches chain to each other, and the audit log bears them out', async () => {
    for (let i = 0; i < 3; i++) {
      await prove(proof(await completed()))
      await endEpoch()
    }
    const batches = (await engine.fund.settledEpochs()).toReversed()
    expect(batches).toHaveLength(3)
    expect(brokenBatch(batches, NO_BATCH)).toBeNull()
    const entries = await engine.view.read.journal(0, 1_000)
    expect(brokenSeq(entries)).toBeNull()
    for (const { batchId, batch } of batches) {
      expect(entries[batch.auditSeq - 1]).toMatchObject({
        seq: batch.auditSeq,
        hash: batch.auditHead,
      })
      const told = entries.find(({ details }) => details['batchId'] === batchId)
      expect(told).toMatchObject({ action: 'epochSettled' })
      expect(told?.seq).toBeGreaterThan(batch.auditSeq)
    }
  })

  it('SETTLE-22: a close that a restart cut off goes on, and a replica computes the same batch', async () => {
    await prove(proof(await completed()))
    const epochId = Math.floor(START / EPOCH_MS)
    await engine.close()
    await clock.advance(EPOCH_MS)
    // It begins the close and never computes the batch.
    const stuck = await openEngine({
      store: new SharedStore(store),
      clock,
      computeClose: () => new Promise(() => {}),
    })
    await clock.settle()
    expect(stuck.fund.balances().length).toBeGreaterThan(0)
    await open()
    expect(await engine.fund.settledEpochs()).toMatchObject([{ epochId }])
    expect(sum()).toBe(0n)
  })

  it('SLA-7, SLA-8: bad service is slashed, cools down and goes to jail for some epochs', async () => {
    await engine.fund.unstake(ATLAS, 3_000n)
    for (let i = 0; i < 3; i++) {
      const offer = await completed('quantum')
      await expect(prove(proof(offer, { passed: 0n }))).rejects.toThrow(refusal('AttestationError'))
      await engine.cancel(offer.jobId, ACME)
      await engine.setProviderStatus(ATLAS, 'ACTIVE')
    }
    const epochId = await endEpoch()
    const provider = engine.view.provider(ATLAS)
    expect(provider).toMatchObject({ status: 'JAILED', stake: 1_910n })
    const closedAt = (epochId + 1) * EPOCH_MS
    expect(provider?.standing.jailedUntil).toBe(closedAt + 2 * EPOCH_MS)
    expect(engine.fund.serviceOf(ATLAS)).toMatchObject({
      kinds: [{ kind: 'quantum', band: 'fail', outcomes: 3 }],
      offenceEpochs: [epochId],
    })
    const [settled] = await engine.fund.settledEpochs()
    expect(settled?.batch.totals).toMatchObject({ slashed: 90n, debits: { [ATLAS]: 90n } })
    const entries = await engine.view.read.journal(0, 1_000)
    expect(entries.find(({ action }) => action === 'providerSlashed')).toMatchObject({
      subject: ATLAS,
      details: { providerId: ATLAS, reason: 'traps', penalty: 90 },
    })
    await restart()
    await clock.advance(closedAt + 2 * EPOCH_MS - clock.now() - 1)
    await engine.heartbeat(ATLAS)
    expect(engine.view.provider(ATLAS)?.status).toBe('JAILED')
    await clock.advance(1)
    await engine.heartbeat(ATLAS)
    expect(engine.view.provider(ATLAS)?.status).toBe('ACTIVE')
    expect(engine.fund.balanceOf(ATLAS)).toMatchObject({ available: 3_000n, unstaking: [] })
    expect(sum()).toBe(0n)
  })

  it('STAKE-2: stake that is on its way out can be slashed until it is paid', async () => {
    await engine.fund.unstake(ATLAS, 4_950n)
    for (let i = 0; i < 3; i++) {
      const offer = await completed('quantum').catch(() => null)
      if (offer === null) break
      await prove(proof(offer, { passed: 0n })).catch(() => undefined)
      await engine.cancel(offer.jobId, ACME)
    }
    await expect(engine.fund.unstake(ATLAS, 51n)).rejects.toThrow(
      refusal('InsufficientStake', { required: 51n, actual: 50n }),
    )
    // What is left does not suffice for its offer, so it gets no more work.
    expect(engine.fund.balanceOf(ATLAS)).toMatchObject({
      stake: 50n,
      unstaking: [{ amount: 4_950n }],
    })
  })

  it('LEDGER-3: a payout is recorded once under its reference', async () => {
    await prove(proof(await completed()))
    await endEpoch()
    const { available } = engine.fund.balanceOf(ATLAS)
    const payout = { account: ATLAS, amount: 600n, reference: 'invoice 1' }
    expect(await engine.fund.recordPayout(payout)).toBe(available - 600n)
    await restart()
    expect(await engine.fund.recordPayout(payout)).toBe(available - 600n)
    await expect(engine.fund.recordPayout({ ...payout, amount: 1n })).rejects.toThrow(
      refusal('IdempotencyConflict'),
    )
    await expect(
      engine.fund.recordPayout({ ...payout, amount: available, reference: 'invoice 2' }),
    ).rejects.toThrow(refusal('InvalidState'))
    expect(sum()).toBe(0n)
  })

  it('SETTLE-21: the length of an epoch is fixed once a claim is FINAL', async () => {
    const longer = { ...POLICY, queue: { ...POLICY.queue, quotas: { epoch_secs: 20 } } }
    await engine.setPolicy(longer, 'fund')
    await engine.setPolicy(POLICY, 'fund')
    await prove(proof(await completed()))
    await expect(engine.setPolicy(longer, 'fund')).rejects.toThrow(
      refusal('InvalidParams', { field: 'queue.quotas.epoch_secs' }),
    )
  })
})

/** A store that an engine may close while another one has it. */
class SharedStore implements Store {
  readonly log: Store['log']
  readonly tables: Store['tables']
  readonly read: Store['read']

  constructor({ log, tables, read }: Store) {
    this.log = log
    this.tables = tables
    this.read = read
  }

  async close(): Promise<void> {}
}

/** A store whose log takes nothing while it is down. */
class RefusingStore extends SharedStore {
  isDown = false
  override readonly log: Store['log']

  constructor(store: Store) {
    super(store)
    const { log } = store
    const refuse = () => Promise.reject(new FairleadError('StoreUnavailable', 'the log is down'))
    this.log = {
      get end() {
        return log.end
      },
      append: (record) => (this.isDown ? refuse() : log.append(record)),
      read: (after) => log.read(after),
      trim: (upTo) => log.trim(upTo),
      scrub: () => log.scrub(),
      close: () => log.close(),
    }
  }
}

/** Of all balances. */
function sum(): bigint {
  return engine.fund.balances().reduce((total, [, balance]) => total + balance, 0n)
}
