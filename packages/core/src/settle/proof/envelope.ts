import { fromHex, isHex32, toHex } from '../../encoding/bytes.ts'
import { encodeCbor } from '../../encoding/cbor.ts'
import { publicKeyOf, signEd25519 } from '../../encoding/ed25519.ts'
import { sha3Hex } from '../../encoding/hash.ts'
import { nullifierOf } from '../../encoding/ids.ts'
import { readU64 } from '../../encoding/u64.ts'
import { type ProofType, proofTypeOf } from '../../enqueue/kinds.ts'
import { invalidParams } from '../../errors.ts'
import {
  bytesIn,
  decodeBody,
  decodeMap,
  encodeBody,
  type ProofBody,
  proofMessage,
  refuseOtherKeys,
  refuseOutOfBounds,
} from './proof-body.ts'

/** A proof as it was read from its envelope. Nothing about it is checked but its form (PROOF-1). */
export interface Proof {
  readonly type: ProofType
  readonly body: ProofBody
  readonly signature: Uint8Array
  /** As the envelope names it; `checkProof` compares it with the body's. */
  readonly nullifier: string
  readonly envelopeHash: string
}

/** Everything about a proof that its provider made. Send `envelope`. */
export interface BuiltProof {
  readonly publicKey: Uint8Array
  /** The 32 bytes that were signed. */
  readonly message: Uint8Array
  readonly signature: Uint8Array
  /** Canonical CBOR of the body with the signature. */
  readonly body: Uint8Array
  readonly nullifier: string
  readonly envelope: Uint8Array
  readonly envelopeHash: string
}

/** The most bytes of an envelope. */
export const ENVELOPE_BYTES_MAX = 4_096

/** Signs a statement about a completed lease with the provider's 32-byte secret seed (PROOF-8). */
export function buildProof(statement: {
  readonly typeId: number
  readonly secretKey: Uint8Array
  readonly body: ProofBody
}): BuiltProof {
  const { typeId, secretKey, body } = statement
  const type = knownType(typeId)
  refuseUnfit(type, body)
  const message = proofMessage(type, body)
  const signature = signEd25519(secretKey, message)
  const bytes = encodeBody(body, signature)
  const nullifier = nullifierIn(type, body)
  const envelope = encodeCbor({
    body: bytes,
    type_id: typeId,
    nullifier: fromHex(nullifier) as Uint8Array,
  })
  refuseLong(envelope)
  const publicKey = publicKeyOf(secretKey)
  const envelopeHash = sha3Hex(envelope)
  return { publicKey, message, signature, body: bytes, nullifier, envelope, envelopeHash }
}

/** The proof in an envelope, or `InvalidParams` naming the field (PROOF-1). It throws nothing else. */
export function readProof(envelope: Uint8Array): Proof {
  refuseLong(envelope)
  const map = decodeMap(envelope, 'envelope')
  refuseOtherKeys(map, ['type_id', 'body', 'nullifier'], 'envelope')
  const type = knownType(map['type_id'])
  const { body: bytes } = map
  if (!(bytes instanceof Uint8Array)) throw invalidParams('body', 'bytes of canonical CBOR')
  const nullifier = toHex(bytesIn(map, 'nullifier', 32))
  const { body, signature } = decodeBody(bytes, type)
  return { type, body, signature, nullifier, envelopeHash: sha3Hex(envelope) }
}

/** The nullifier that belongs to a body (ID-11). */
export function nullifierIn(type: ProofType, { chainId, taskId, leaseId }: ProofBody): string {
  return nullifierOf({ typeId: type.typeId, chainId, taskId, leaseId })
}

function refuseLong({ length }: Uint8Array): void {
  if (length >= 1 && length <= ENVELOPE_BYTES_MAX) return
  throw invalidParams('envelope', `1 to ${ENVELOPE_BYTES_MAX} bytes`, `${length}`)
}

function knownType(typeId: unknown): ProofType {
  const type = proofTypeOf(typeId)
  if (type === null) throw invalidParams('type_id', '2 (AI_V1) or 3 (QUANTUM_V1)')
  return type
}

/** The checks of a body that does not come from an envelope. */
function refuseUnfit(type: ProofType, body: ProofBody): void {
  const { taskId, leaseId, outputDigest, attestationHash, providerId, qos, traps } = body
  const hashes = { task_id: taskId, lease_id: leaseId, output_digest: outputDigest }
  for (const [field, hash] of Object.entries({ ...hashes, attestation_hash: attestationHash })) {
    if (!isHex32(hash)) throw invalidParams(field, '32 bytes as 0x hex')
  }
  if (typeof providerId !== 'string' || !providerId.isWellFormed()) {
    throw invalidParams('provider_id', 'well-formed text')
  }
  if ((traps !== null) !== type.hasTraps) {
    throw invalidParams('traps', `${type.hasTraps ? 'shots and passed' : 'null'} in ${type.name}`)
  }
  const amounts = {
    chain_id: body.chainId,
    units_ppm: body.unitsPpm,
    'qos.p95_latency_ms': qos.p95LatencyMs,
    'qos.availability_ppm': qos.availabilityPpm,
    ...(traps && { 'traps.shots': traps.shots, 'traps.passed': traps.passed }),
  }
  for (const [field, amount] of Object.entries(amounts)) {
    if (typeof amount === 'bigint' && readU64(amount) !== null) continue
    throw invalidParams(field, 'a bigint from 0 to 2^64 − 1')
  }
  refuseOutOfBounds(body)
}
