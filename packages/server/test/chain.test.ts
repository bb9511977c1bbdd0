import { callerOf, encodeCbor, sha3Hex } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AI, Rig } from './rig.ts'

const CONTRACT = callerOf('a contract')
const TX = sha3Hex(Buffer.from('a transaction'))

/** The JobRequest of a chain, and the transaction and block that it came with. */
const REQUEST = {
  schema_version: 0,
  kind: 0,
  caller: CONTRACT,
  max_fee_u64: 2_500_000,
  payload: AI.payload,
  tx_hash: TX,
  enqueue_block: 123_456,
} as const

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

describe('a request from a chain', () => {
  it('ENQUEUE-17: is taken from an operator, and is the same job over HTTP, CBOR and WebSocket', async () => {
    const receipt = await rig.call('operator', 'aicf.enqueue', REQUEST)
    expect(receipt).toEqual({
      schema_version: 0,
      task_id: receipt.task_id,
      enqueue_block: 123_456,
      caller: CONTRACT,
      kind: 'ai',
      max_fee_u64: 2_500_000,
      accepted: true,
    })
    const bytes = (hex: string) => Buffer.from(hex.slice(2), 'hex')
    const message = encodeCbor({
      jsonrpc: '2.0',
      id: 1,
      method: 'aicf.enqueue',
      params: {
        ...REQUEST,
        caller: bytes(CONTRACT),
        tx_hash: bytes(TX),
        payload: { ...AI.payload, prompt: bytes(AI.payload.prompt) },
      },
    })
    const response = await rig.raw('operator', message, 'application/cbor')
    const body = Buffer.from(await response.arrayBuffer())
    expect(body.includes(bytes(receipt.task_id))).toBe(true)
    const socket = await rig.socket('admin')
    expect(await socket.call('aicf.enqueue', REQUEST)).toEqual(receipt)
    const { jobs } = await rig.call('operator', 'aicf.listJobs', {})
    expect(jobs).toHaveLength(1)
    expect(jobs[0]?.request).toMatchObject({
      tx_hash: TX,
      enqueue_block: 123_456,
      caller: CONTRACT,
    })
  })

  it('ENQUEUE-17: two of one transaction with different payloads are two jobs', async () => {
    const first = await rig.call('operator', 'aicf.enqueue', REQUEST)
    const payload = { ...AI.payload, max_tokens: 7 }
    const second = await rig.call('operator', 'aicf.enqueue', { ...REQUEST, payload })
    expect(second.task_id).not.toBe(first.task_id)
  })

  it('ENQUEUE-17: another caller, or a block, from somebody else is Forbidden', async () => {
    const { enqueue_block: _, ...unblocked } = REQUEST
    expect(await rig.outcome('alice', 'aicf.enqueue', REQUEST)).toBe('Forbidden')
    expect(await rig.outcome('alice', 'aicf.enqueue', unblocked)).toBe('Forbidden')
    const own = { ...REQUEST, caller: callerOf('alice') }
    expect(await rig.outcome('alice', 'aicf.enqueue', own)).toBe('Forbidden')
    const plain = { ...unblocked, caller: callerOf('alice') }
    expect(await rig.outcome('alice', 'aicf.enqueue', plain)).toBe('ok')
  })

  it('ENQUEUE-17: in a chain or not, the caller owns the job', async () => {
    const request = { ...REQUEST, caller: callerOf('alice') }
    const { task_id } = await rig.call('operator', 'aicf.enqueue', request)
    expect((await rig.call('alice', 'aicf.getJob', { task_id })).job.request.tx_hash).toBe(TX)
    expect(await rig.outcome('bob', 'aicf.getJob', { task_id })).toBe('Forbidden')
  })
})

describe('needs of a job', () => {
  const quantum = { kind: 'quantum', payload: { circuit: '0x01', shots: 10 } } as const

  it('MATCH-5: a job goes to a provider that has what it needs, and explain says who has not', async () => {
    const offer = { kinds: ['ai', 'quantum'] as ('ai' | 'quantum')[], models: ['*'] }
    await rig.call('operator', 'aicf.registerProvider', {
      provider_id: 'provider:atlas',
      ...offer,
      precision: ['fp16', 'int8'],
      max_width: 32,
      gates: ['h', 'cx'],
    })
    const refusalOf = async (params: object): Promise<unknown> => {
      const { task_id } = await rig.call('alice', 'aicf.enqueue', params as never)
      const { waiting } = await rig.call('alice', 'aicf.explainJob', { task_id })
      return waiting?.providers[0]?.refusal
    }
    // Without a worker a provider that fits has no slot.
    expect(await refusalOf({ ...AI, precision: ['fp64', 'fp16'] })).toBe('lease_cap_reached')
    expect(await refusalOf({ ...AI, precision: 'fp64' })).toBe('model_unsupported')
    expect(await refusalOf({ ...quantum, width_hint: 32, gates: ['h'] })).toBe('lease_cap_reached')
    expect(await refusalOf({ ...quantum, width_hint: 33 })).toBe('circuit_unsupported')
    expect(await refusalOf({ ...quantum, gates: ['h', 't'] })).toBe('circuit_unsupported')
    const { provider } = await rig.call('operator', 'aicf.getProvider', {
      provider_id: 'provider:atlas' as never,
    })
    expect(provider).toMatchObject({
      max_width: 32,
      gates: ['cx', 'h'],
      precision: ['fp16', 'int8'],
    })
  })

  it('ENQUEUE-16: what a kind cannot need is refused by its name, and a record shows the needs', async () => {
    const refused = async (params: object): Promise<unknown> => {
      const error: unknown = await rig
        .call('alice', 'aicf.enqueue', params as never)
        .catch((e) => e)
      return (error as { details: { field: string } }).details.field
    }
    expect(await refused({ ...AI, gates: ['h'] })).toBe('gates')
    expect(await refused({ ...AI, width_hint: 1 })).toBe('width_hint')
    expect(await refused({ ...quantum, precision: 'fp16' })).toBe('precision')
    expect(await refused({ ...quantum, width_hint: -1 })).toBe('width_hint')
    const { task_id } = await rig.call('alice', 'aicf.enqueue', {
      ...quantum,
      gates: ['t', 'h', 't'],
    })
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job.request).toMatchObject({ gates: ['h', 't'], width_hint: 0, precision: null })
  })
})
