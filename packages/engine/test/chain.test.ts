import { callerOf, type JobId, sha3Hex, taskId } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ACME, Call, outcomesOf, Rig } from './rig.ts'

const OPERATOR = { caller: ACME, isOperator: true }
const CHAIN_CALLER = callerOf('a contract')
const TX = sha3Hex(Buffer.from('transaction'))
const AI = { model: 'llama3-8b', prompt: '0x68690a', max_tokens: 64 }

let rig: Rig

beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

/** The seed's JobRequest as it stands, with the transaction that it came with. */
function fromChain(payload: object = AI, given: object = {}): Record<string, unknown> {
  return {
    schema_version: 0,
    kind: 0,
    caller: CHAIN_CALLER,
    max_fee_u64: 2_500_000,
    payload,
    tx_hash: TX,
    enqueue_block: 123_456,
    ...given,
  }
}

describe('a request from a chain', () => {
  it('ENQUEUE-17: belongs to the caller and the block of its transaction', async () => {
    const jobId = await rig.engine.enqueue(fromChain(), OPERATOR)
    const row = await rig.engine.getJob(jobId)
    expect(row).toMatchObject({
      kind: 'ai',
      caller: CHAIN_CALLER,
      enqueueHeight: 123_456n,
      origin: { txHash: TX },
    })
    const [payload] = await rig.engine.view.read.payloads([row.seq])
    expect(jobId).toBe(
      taskId({
        chainId: 1n,
        enqueueHeight: 123_456n,
        txHash: bytes(TX),
        caller: bytes(CHAIN_CALLER),
        payloadCbor: payload as Uint8Array,
      }),
    )
  })

  it('ENQUEUE-17: two of one transaction with different payloads are two jobs', async () => {
    const first = await rig.engine.enqueue(fromChain(), OPERATOR)
    const second = await rig.engine.enqueue(fromChain({ ...AI, max_tokens: 65 }), OPERATOR)
    expect(second).not.toBe(first)
    expect(await rig.jobs()).toEqual([first, second])
  })

  it('ENQUEUE-17: the same one again is the first job, in one batch, later, and in many at once', async () => {
    const first = await rig.engine.enqueue(fromChain(), OPERATOR)
    expect(await rig.engine.enqueue(fromChain(), OPERATOR)).toBe(first)
    const answers = await rig.engine.enqueueMany([fromChain(), fromChain()], OPERATOR)
    expect(answers).toMatchObject([{ value: first }, { value: first }])
    expect(await rig.jobs()).toEqual([first])
  })

  it('ENQUEUE-17: one whose result is kept is answered like the first, and is not done again', async () => {
    await rig.engine.setPolicy({ queue: { completion: { result_retention_secs: null } } })
    await rig.engine.updateProvider('provider:atlas' as never, {
      capabilities: new Set(['ai'] as const),
    })
    const worker = await rig.connect()
    const first = await rig.engine.enqueue(fromChain(), OPERATOR)
    await rig.clock.settle()
    await worker.session.complete(worker.offered.leaseId, {})
    await rig.restart(8 * 86_400_000)
    await rig.clock.advance(61_000)
    await expect(rig.engine.getJob(first)).rejects.toMatchObject({ code: 'NotFound' })
    expect(await rig.engine.enqueue(fromChain(), OPERATOR)).toBe(first)
    expect(await rig.jobs()).toEqual([])
  })

  it('ENQUEUE-17: a kind by its number is the kind; any other number is refused by its name', async () => {
    const circuit = { circuit: '0x01', shots: 10 }
    const jobId = await rig.engine.enqueue(fromChain(circuit, { kind: 1 }), OPERATOR)
    expect((await rig.engine.getJob(jobId)).kind).toBe('quantum')
    const odd = rig.engine.enqueue(fromChain(AI, { kind: 2 }), OPERATOR)
    await expect(odd).rejects.toMatchObject({ code: 'InvalidParams', details: { field: 'kind' } })
  })

  it('ENQUEUE-17: without the role another caller or a block is Forbidden; its own caller is not', async () => {
    const plain = { caller: ACME }
    const { enqueue_block: _, ...unblocked } = fromChain()
    const refused = [fromChain(), unblocked, { ...fromChain(), caller: ACME }]
    for (const request of refused) {
      await expect(rig.engine.enqueue(request, plain)).rejects.toMatchObject({ code: 'Forbidden' })
    }
    const own = await rig.engine.enqueue({ ...unblocked, caller: ACME }, plain)
    expect((await rig.engine.getJob(own)).caller).toBe(ACME)
    const [many] = await rig.engine.enqueueMany([fromChain()], plain)
    expect(many).toMatchObject({ status: 'rejected', reason: { code: 'Forbidden' } })
  })

  it('LOOP-2: is answered by an engine that closes, though its look-up waits for the open batch', async () => {
    rig.store.isHolding = true
    // So many changes are not taken at once.
    const calls: Call<unknown>[] = Array.from({ length: 40 }, (_, i) => rig.enqueue(`k-${i}`))
    const write = await rig.store.underWay()
    calls.push(rig.enqueue('in the open batch'))
    await rig.clock.settle()
    calls.push(new Call(rig.engine.enqueue(fromChain(), OPERATOR)))
    await rig.clock.settle()
    calls.push(new Call(rig.engine.close()))
    await rig.clock.settle()
    await write.confirm()
    await rig.store.letGo()
    expect(await outcomesOf(calls)).toEqual(calls.map(() => 'ok'))
  })

  it.each([
    ['tx_hash', { tx_hash: undefined }],
    ['caller', { caller: '0x12' }],
    ['enqueue_block', { enqueue_block: -1 }],
    ['schema_version', { schema_version: 1 }],
  ])('ENQUEUE-17: what is wrong with %s is said by its name', async (field, given) => {
    const refused = rig.engine.enqueue(fromChain(AI, given), OPERATOR)
    await expect(refused).rejects.toMatchObject({ code: 'InvalidParams', details: { field } })
  })
})

describe('ties', () => {
  it('MATCH-8: in the preset fund the pair hash decides between jobs of equal score and time', async () => {
    const queue = { completion: { ai_verification: 'none' } }
    const policy = { registry: { min_stake: { ai: 0 } }, queue }
    const winners = new Set<number>()
    for (let run = 0; run < 12; run++) {
      const other = await Rig.open()
      await other.engine.setPolicy(policy, 'fund')
      await other.engine.updateProvider('provider:atlas' as never, {
        capabilities: new Set(['ai'] as const),
      })
      const requests = Array.from({ length: 4 }, (_, i) => fromChain({ ...AI, prompt: `0x0${i}` }))
      const given = await other.engine.enqueueMany(requests, OPERATOR)
      const ids = given.map((one) => (one as PromiseFulfilledResult<JobId>).value)
      const worker = await other.connect('w-1', { slots: 1 })
      await other.clock.settle()
      winners.add(ids.indexOf(worker.offered.jobId))
      await other.close()
    }
    expect(winners.size).toBeGreaterThan(1)
  })

  it('ORDER-3: in the preset queue jobs of one millisecond go in the order of their arrival', async () => {
    const keys = Array.from({ length: 8 }, (_, i) => `k-${i}`)
    const calls = keys.map((key) => rig.enqueue(key))
    await Promise.all(calls.map(({ done }) => done))
    const ids = calls.map(({ value }) => value)
    const worker = await rig.connect('w-1', { slots: 8 })
    await rig.clock.settle()
    expect(worker.offers.map(({ jobId }) => jobId)).toEqual(ids)
  })
})

function bytes(hex: string): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex')
}
