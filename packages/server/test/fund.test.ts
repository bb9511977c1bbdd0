import {
  fromHex,
  type JobId,
  type LeaseId,
  publicKeyOf,
  readSettlement,
  sha3Hex,
  toHex,
} from '@fairlead/core'
import { NO_ROWS, type SettlementHead } from '@fairlead/core/internal'
import { afterEach, describe, expect, it } from 'vitest'
import {
  ATLAS,
  ATTESTATION_HASH,
  answerTo,
  blockOf,
  completed,
  FUND,
  nextSettled,
  PUBLIC_KEY,
  proofOf,
  REGISTRATION,
  VALID,
} from './fund-rig.ts'
import { NO_ID, type Person, Rig, TASK } from './rig.ts'

let rig: Rig
afterEach(() => rig.close())

const FORMS = ['json', 'cbor'] as const

async function opened(policy: object = FUND): Promise<void> {
  rig = await Rig.open({ policy })
  await rig.call('atlas', 'aicf.registerProvider', REGISTRATION)
}

describe('the audit log and the batches', () => {
  it('SETTLE-16: audit.verify names the oldest batch that the log does not bear out', async () => {
    await opened()
    const work = await completed(rig)
    await rig.call('atlas', 'aicf.submitProof', { envelope: proofOf(work) })
    const epochId = await nextSettled(rig)
    expect(await rig.call('auditor', 'audit.verify', {})).toMatchObject({
      broken_seq: null,
      broken_batch: null,
      is_complete: true,
    })
    // Somebody adds a batch that no close has made.
    const { tables, read, log } = rig.store
    const [row] = (await read.settlements(epochId + 1, 1)) as [SettlementHead]
    const forged = {
      ...row,
      epochId: epochId + 1,
      batchId: NO_ID,
      due: new Uint8Array(),
      parts: [],
    }
    await tables.apply({ ...NO_ROWS, settlements: [forged] }, log.end.batch)
    expect(await rig.call('auditor', 'audit.verify', {})).toMatchObject({ broken_batch: NO_ID })
  })
})

describe('proofs', () => {
  it.each(FORMS)(
    'WIRE-13: an accepted proof is a claim, and brings the result (%s)',
    async (form) => {
      await opened()
      const work = await completed(rig)
      const asked = { task_id: work.taskId }
      expect(await rig.outcome('alice', 'aicf.getResult', asked, form)).toBe('NoResultYet')
      expect(await rig.call('alice', 'aicf.getJob', asked, form)).toMatchObject({
        status: 'RUNNING',
        job: { wait_reason: 'proof' },
        claim: null,
        result: null,
      })
      const envelope = proofOf(work)
      const { claim } = await rig.call('atlas', 'aicf.submitProof', { envelope }, form)
      const qos = { p95_latency_ms: 420, availability: 0.9993 }
      const { nullifier, block_height: height } = claim
      expect(claim).toEqual({
        schema_version: 0,
        task_id: work.taskId,
        lease_id: work.leaseId,
        provider_id: ATLAS,
        proof_type: 'AI_V1',
        envelope_hash: sha3Hex(fromHex(envelope) as Uint8Array),
        nullifier,
        metrics: { ai_units: 3.25, qos },
        block_height: height,
        tx_hash: claim.envelope_hash,
        status: 'FINAL',
        finalized_height: height,
      })
      const { claim: shown, result } = await rig.call('alice', 'aicf.getJob', asked, form)
      expect(shown).toEqual(claim)
      expect(result).toMatchObject({
        units: 3.25,
        qos,
        proof_refs: [
          {
            proof_type: 'AI_V1',
            proof_hash: claim.envelope_hash,
            nullifier,
            block_height: height,
            tx_hash: claim.tx_hash,
          },
        ],
        finalized_height: height,
      })
      expect(await rig.call('alice', 'aicf.getResult', asked, form)).toEqual(result)
      expect(await rig.outcome('bob', 'aicf.getJob', asked, form)).toBe('Forbidden')
      expect(await rig.outcome('atlas', 'aicf.submitProof', { envelope }, form)).toBe(
        'NullifierReused',
      )
    },
  )

  it('WIRE-13: a refusal has its code and details, and another proof may follow', async () => {
    await opened()
    const work = await completed(rig)
    const refused = async (envelope: string, as: Person = 'atlas') =>
      rig.call(as, 'aicf.submitProof', { envelope }).then(
        () => null,
        ({ code, details }) => ({ code: code as string, details: details as object }),
      )
    expect(await refused('0xa0')).toMatchObject({ code: 'InvalidParams' })
    expect(await refused(proofOf({ ...work, taskId: NO_ID as JobId }))).toMatchObject({
      code: 'NotFound',
    })
    expect(await refused(proofOf(work), 'borea')).toMatchObject({ code: 'Forbidden' })
    expect(await refused(proofOf({ ...work, leaseId: NO_ID as LeaseId }))).toMatchObject({
      code: 'ClaimMismatch',
      details: { field: 'lease_id' },
    })
    expect(await refused(proofOf(work, { unitsPpm: 3_300_001n }))).toMatchObject({
      code: 'ClaimMismatch',
      details: { field: 'units_ppm' },
    })
    expect(await refused(proofOf(work, { secretKey: Buffer.alloc(32, 8) }))).toMatchObject({
      code: 'AttestationError',
      details: { reason: 'signature' },
    })
    const { claim } = await rig.call('operator', 'aicf.submitProof', { envelope: proofOf(work) })
    expect(claim.status).toBe('FINAL')
  })

  it('WIRE-13: a task needs no proof, and its result says so', async () => {
    rig = await Rig.open({ policy: FUND })
    const poll = { worker_id: 'w', slots: 1, kinds: ['task' as const], models: ['*'] }
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { leases } = await rig.call('atlas', 'aicf.pollLeases', { ...poll, wait_ms: 5_000 })
    const lease_id = leases[0]?.lease_id as string
    await rig.call('atlas', 'aicf.completeLease', { lease_id, worker_id: 'w' })
    const { claim, result } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(claim).toBeNull()
    expect(result).toMatchObject({ units: 1, qos: null, proof_refs: [], finalized_height: null })
  })
})

describe('a chain', () => {
  it.each(FORMS)('WIRE-18: a claim of a block is PENDING until it is final (%s)', async (form) => {
    await opened({ ...FUND, chain: { source: 'blocks', finality_k: 1 } })
    const work = await completed(rig)
    const envelope = proofOf(work)
    expect(await rig.outcome('atlas', 'aicf.submitProof', { envelope }, form)).toBe('InvalidState')
    const first = await rig.call('operator', 'chain.block', blockOf(100, '0xa0', envelope), form)
    expect(first).toEqual({ head: 100, final_height: 99, accepted: 1, refused: 1 })
    const asked = { task_id: work.taskId }
    const pending = await rig.call('alice', 'aicf.getJob', asked, form)
    expect(pending).toMatchObject({
      status: 'RUNNING',
      result: null,
      claim: {
        status: 'PENDING',
        block_height: 100,
        proof_idx_in_block: 1,
        tx_hash: PUBLIC_KEY,
        finalized_height: null,
      },
    })
    expect(await rig.outcome('alice', 'aicf.cancelJob', asked, form)).toBe('InvalidState')
    expect(await rig.outcome('operator', 'chain.block', blockOf(103), form)).toBe('InvalidParams')
    await rig.call('operator', 'chain.block', blockOf(101), form)
    const final = await rig.call('alice', 'aicf.getJob', asked, form)
    expect(final).toMatchObject({ status: 'COMPLETED', result: { finalized_height: 101 } })
    expect(final.claim).toEqual({ ...pending.claim, status: 'FINAL', finalized_height: 101 })
    expect(await rig.outcome('operator', 'chain.block', blockOf(100), form)).toBe('InvalidState')
  })
})

describe('keys, attestation and stake', () => {
  it.each(FORMS)('WIRE-14: a provider attests itself (%s)', async (form) => {
    await opened()
    const { challenge, chain_id, expires_at } = await rig.call(
      'atlas',
      'aicf.getChallenge',
      { provider_id: ATLAS },
      form,
    )
    expect({ chain_id, isOpen: expires_at > Date.now() }).toEqual({ chain_id: 1, isOpen: true })
    const wrong = answerTo(PUBLIC_KEY)
    const refusal = rig.call('atlas', 'aicf.attest', wrong, form)
    await expect(refusal).rejects.toMatchObject({
      code: 'AttestationError',
      details: { reason: 'challenge_signature' },
    })
    const asked = answerTo(challenge)
    const { attestation } = await rig.call('atlas', 'aicf.attest', asked, form)
    expect(attestation).toEqual({
      class: 'enclave',
      attestation_hash: ATTESTATION_HASH,
      not_before: VALID.notBefore,
      not_after: VALID.notAfter,
    })
    const { provider } = await rig.call('auditor', 'aicf.getProvider', { provider_id: ATLAS }, form)
    expect(provider.attestation).toEqual(attestation)
    const work = await completed(rig)
    const named = { attestation: attestation.attestation_hash }
    await rig.call('atlas', 'aicf.submitProof', { envelope: proofOf(work, named) }, form)
  })

  it('WIRE-16: a provider names its key once; an operator replaces it, and the attestation ends', async () => {
    await opened()
    const { challenge } = await rig.call('atlas', 'aicf.getChallenge', { provider_id: ATLAS })
    await rig.call('atlas', 'aicf.attest', answerTo(challenge))
    const other = toHex(publicKeyOf(Buffer.alloc(32, 9)))
    const change = { provider_id: ATLAS, public_key: other }
    expect(await rig.outcome('atlas', 'aicf.updateProvider', change)).toBe('Forbidden')
    const { provider } = await rig.call('operator', 'aicf.updateProvider', change)
    expect(provider).toMatchObject({ public_key: other, attestation: null })
    const weak = { provider_id: 'provider:borea', public_key: `0x01${'00'.repeat(31)}` }
    expect(await rig.outcome('borea', 'aicf.registerProvider', weak)).toBe('InvalidParams')
  })

  it.each(FORMS)('WIRE-14: stake goes in and out (%s)', async (form) => {
    await opened()
    await rig.call('operator', 'aicf.stake', { provider_id: ATLAS, amount_u64: 500 }, form)
    const before = Date.now()
    const out = { provider_id: ATLAS, amount_u64: 200 }
    const { stake_u64, matures_at } = await rig.call('atlas', 'aicf.unstake', out, form)
    expect(stake_u64).toBe(300)
    expect(matures_at).toBeGreaterThanOrEqual(before + 86_400_000)
    const { provider } = await rig.call('atlas', 'aicf.getProvider', { provider_id: ATLAS }, form)
    expect(provider).toMatchObject({
      stake_u64: 300,
      unstaking: [{ amount_u64: 200, matures_at }],
      public_key: PUBLIC_KEY,
      jailed_until: null,
      offence_epochs: [],
    })
    expect(await rig.call('atlas', 'aicf.getBalance', {}, form)).toEqual({
      account: ATLAS,
      available: 0,
      stake: 300,
      unstaking: [{ amount: 200, matures_at }],
      due: 0,
    })
    const tooMuch = { provider_id: ATLAS, amount_u64: 301 }
    await expect(rig.call('atlas', 'aicf.unstake', tooMuch, form)).rejects.toMatchObject({
      code: 'InsufficientStake',
      details: { required: '301', actual: '300' },
    })
    expect(await rig.outcome('atlas', 'aicf.unstake', { ...out, amount_u64: 0 }, form)).toBe(
      'InvalidParams',
    )
    const external = await rig.call('auditor', 'aicf.getBalance', { account: 'external' }, form)
    expect(external.available).toBe(-500)
  })

  it('WIRE-14: a provider speaks for itself only, and a requester for nobody', async () => {
    await opened()
    const of = { provider_id: ATLAS }
    const calls: [Parameters<Rig['call']>[1], object][] = [
      ['aicf.getChallenge', of],
      ['aicf.attest', answerTo(PUBLIC_KEY)],
      ['aicf.unstake', { ...of, amount_u64: 1 }],
      ['aicf.getBalance', { account: ATLAS }],
      ['aicf.claimPayout', { ...of, epoch_id: 1 }],
    ]
    for (const [method, params] of calls) {
      for (const person of ['borea', 'alice'] as const) {
        expect(await rig.outcome(person, method, params), `${person} ${method}`).toBe('Forbidden')
      }
    }
    for (const account of ['fund', 'provider:borea']) {
      expect(await rig.outcome('atlas', 'aicf.getBalance', { account })).toBe('Forbidden')
    }
    expect(await rig.outcome('operator', 'aicf.getBalance', {})).toBe('InvalidParams')
    const payout = { account: 'fund', amount: 1, reference: 'r' }
    for (const person of ['atlas', 'alice', 'auditor'] as const) {
      expect(await rig.outcome(person, 'aicf.recordPayout', payout)).toBe('Forbidden')
      expect(await rig.outcome(person, 'aicf.closeEpoch', { epoch_id: 1 })).toBe('Forbidden')
    }
  })
})

describe('settlements', () => {
  it.each(FORMS)(
    'WIRE-15: a settlement comes in pages that make up its file (%s)',
    async (form) => {
      await opened()
      const settled = nextSettled(rig)
      const works = [await completed(rig), await completed(rig), await completed(rig)]
      for (const work of works) {
        await rig.call('atlas', 'aicf.submitProof', { envelope: proofOf(work) }, form)
      }
      const epoch_id = await settled
      // The three may lie in two epochs: the newest batch with a line of its own will do.
      const { settlements } = await rig.call('atlas', 'aicf.listSettlements', {}, form)
      expect(settlements[0]?.batch.epoch_id).toBe(epoch_id)
      const whole = await rig.call('auditor', 'aicf.getSettlement', { epoch_id }, form)
      expect(whole.cursor).toBeNull()
      const { settlement } = whole
      const { claims, payouts, ...head } = settlement
      const lines = [...claims, ...payouts]
      expect(lines.length).toBeGreaterThan(1)
      let cursor: string | null = null
      const paged: object[] = []
      do {
        const page: typeof whole = await rig.call(
          'auditor',
          'aicf.getSettlement',
          { epoch_id, limit: 1, ...(cursor === null ? {} : { cursor }) },
          form,
        )
        const { claims: some, payouts: more, ...same } = page.settlement
        expect(same).toEqual(head)
        paged.push(...some, ...more)
        cursor = page.cursor
      } while (cursor !== null)
      expect(paged).toEqual(lines)
      expect(readSettlement(settlement)).toMatchObject({ batchId: settlement.batch_id })

      const own = { provider_id: ATLAS, epoch_id }
      const { proof } = await rig.call('atlas', 'aicf.claimPayout', own, form)
      expect(proof.payouts.map(({ line }) => line)).toEqual(payouts)
      expect(readSettlement(proof)).toMatchObject({ providerId: ATLAS })
      const closed = await rig.call('operator', 'aicf.closeEpoch', { epoch_id }, form)
      expect(closed.settlement?.batch_id).toBe(settlement.batch_id)
      const none = { ...own, epoch_id: 1 }
      expect(await rig.outcome('atlas', 'aicf.claimPayout', none, form)).toBe('NotFound')
      expect(await rig.outcome('operator', 'aicf.getSettlement', { epoch_id: 1 }, form)).toBe(
        'NotFound',
      )
      const future = { epoch_id: epoch_id + 1_000 }
      expect(await rig.outcome('operator', 'aicf.closeEpoch', future, form)).toBe('InvalidState')
    },
  )

  it.each(FORMS)('WIRE-15: a payout is recorded once for each reference (%s)', async (form) => {
    await opened()
    const settled = nextSettled(rig)
    const work = await completed(rig)
    await rig.call('atlas', 'aicf.submitProof', { envelope: proofOf(work) }, form)
    await settled
    const { available } = await rig.call('atlas', 'aicf.getBalance', {}, form)
    const payout = { account: ATLAS, amount: 100, reference: 'transfer-1' }
    for (const _ of [1, 2]) {
      expect(await rig.call('operator', 'aicf.recordPayout', payout, form)).toEqual({
        account: ATLAS,
        available: Number(available) - 100,
      })
    }
    const wrong = { ...payout, amount: 101 }
    expect(await rig.outcome('operator', 'aicf.recordPayout', wrong, form)).toBe(
      'IdempotencyConflict',
    )
    const tooMuch = { ...payout, amount: '18446744073709551615', reference: 'transfer-2' }
    expect(await rig.outcome('operator', 'aicf.recordPayout', tooMuch, form)).toBe('InvalidState')
    const { entries } = await rig.call('auditor', 'audit.list', { limit: 1_000 })
    expect(JSON.stringify(entries)).not.toContain('transfer-1')
  })
})
