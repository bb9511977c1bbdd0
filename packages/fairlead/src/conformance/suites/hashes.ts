import {
  claimKey,
  fromHex,
  leaseId,
  matchSeed,
  pairHash,
  providerIdOf,
  retryHash,
  taggedHashHex,
  taskId,
  toHex,
} from '@fairlead/core'
import { type HashField, isProviderName, sha3, uvarint } from '@fairlead/core/internal'
import { amount, type Json, number, suite } from '../suite.ts'

const OPS: Readonly<Record<string, (input: Json) => Json>> = {
  sha3: ({ data }) => ({ hash: toHex(sha3(bytes(data))) }),
  uvarint: ({ n }) => ({ bytes: toHex(uvarint(amount(n))) }),
  H: ({ tag, fields }) => ({ hash: taggedHashHex(tag, ...fields.map(field)) }),
  task_id: (input) => ({
    hash: taskId({
      chainId: amount(input.chain_id),
      enqueueHeight: amount(input.enqueue_block_height),
      txHash: bytes(input.tx_hash),
      caller: bytes(input.caller),
      payloadCbor: bytes(input.payload_cbor),
    }),
  }),
  match_seed: (input) => ({
    hash: matchSeed({
      chainId: amount(input.chain_id),
      epochId: amount(input.epoch_id),
      height: amount(input.block_height),
      beacon: bytes(input.beacon),
    }),
  }),
  lease_id: (input) => ({
    hash: leaseId({
      jobId: input.job_id,
      providerId: input.provider_id,
      attempt: number(input.attempt),
      seed: input.seed,
    }),
  }),
  pair_hash: ({ job_id, provider_id, seed }) => ({ hash: pairHash(job_id, provider_id, seed) }),
  retry_hash: ({ job_id, n }) => ({ hash: toHex(retryHash(job_id, number(n))) }),
  claim_key: (input) => ({
    hash: claimKey({
      taskId: input.task_id,
      height: amount(input.block_height),
      nullifier: bytes(input.nullifier),
    }),
  }),
  provider_id: ({ public_key }) => ({ id: providerIdOf(bytes(public_key)) }),
  provider_name: ({ name }) => ({ valid: isProviderName(name) }),
}

/** §1, §2: the hash function and the ids. */
export const hashes = suite((input) => {
  const op = OPS[input.op]
  if (op === undefined) throw new TypeError(`unknown op ${input.op}`)
  return op(input)
})

function field(json: Json): HashField {
  if ('text' in json) return json.text
  return 'int' in json ? amount(json.int) : bytes(json.bytes)
}

function bytes(hex: string): Uint8Array {
  const value = fromHex(hex)
  if (value === null) throw new TypeError(`${hex} is not 0x hex`)
  return value
}
