import { fromHex, toHex } from '../../encoding/bytes.ts'
import { type CborMap, type CborValue, decodeCbor, encodeCbor } from '../../encoding/cbor.ts'
import { ED25519_SIGNATURE_BYTES } from '../../encoding/ed25519.ts'
import { taggedHash } from '../../encoding/hash.ts'
import type { JobId, LeaseId } from '../../encoding/ids.ts'
import { isPlainObject } from '../../encoding/plain-object.ts'
import { readU64 } from '../../encoding/u64.ts'
import type { ProofType } from '../../enqueue/kinds.ts'
import { FairleadError, invalidParams, invariant } from '../../errors.ts'

/** The statement of a provider about one lease that it completed (PROOF-2). */
export interface ProofBody {
  readonly chainId: bigint
  readonly taskId: JobId
  readonly providerId: string
  readonly leaseId: LeaseId
  readonly outputDigest: string
  /** Millionths of a unit. */
  readonly unitsPpm: bigint
  readonly qos: Qos
  /** 32 zero bytes if no attestation is in force. */
  readonly attestationHash: string
  /** Null for a type without traps. */
  readonly traps: Traps | null
}

/** The provider's own words about its service. They are shown and decide nothing. */
export interface Qos {
  readonly p95LatencyMs: bigint
  readonly availabilityPpm: bigint
}

/** The trap circuits among the shots, and those of them that came out right. */
export interface Traps {
  readonly shots: bigint
  readonly passed: bigint
}

/** Millionths in a whole. */
const PPM = 1_000_000n

/** The 32 bytes that the provider signs (PROOF-3). */
export function proofMessage(type: ProofType, body: ProofBody): Uint8Array {
  return taggedHash('AICF|proof', type.typeId, encodeCbor(bodyMap(body)))
}

/** The canonical CBOR of a signed body. */
export function encodeBody(body: ProofBody, signature: Uint8Array): Uint8Array {
  return encodeCbor({ ...bodyMap(body), signature })
}

/** The body and its signature, or `InvalidParams` naming the field. */
export function decodeBody(
  bytes: Uint8Array,
  type: ProofType,
): { readonly body: ProofBody; readonly signature: Uint8Array } {
  const map = decodeMap(bytes, 'body')
  const names = type.hasTraps ? [...BODY_FIELDS, 'traps'] : BODY_FIELDS
  refuseOtherKeys(map, [...names, 'signature'], 'body')
  const qos = mapIn(map, 'qos', QOS_FIELDS)
  const traps = type.hasTraps ? mapIn(map, 'traps', TRAP_FIELDS) : null
  const body: ProofBody = {
    chainId: u64In(map, 'chain_id'),
    taskId: hexIn(map, 'task_id', 32) as JobId,
    providerId: textIn(map, 'provider_id'),
    leaseId: hexIn(map, 'lease_id', 32) as LeaseId,
    outputDigest: hexIn(map, 'output_digest', 32),
    unitsPpm: u64In(map, 'units_ppm'),
    qos: {
      p95LatencyMs: u64In(qos, 'p95_latency_ms', 'qos.'),
      availabilityPpm: u64In(qos, 'availability_ppm', 'qos.'),
    },
    attestationHash: hexIn(map, 'attestation_hash', 32),
    traps: traps && {
      shots: u64In(traps, 'shots', 'traps.'),
      passed: u64In(traps, 'passed', 'traps.'),
    },
  }
  refuseOutOfBounds(body)
  return { body, signature: bytesIn(map, 'signature', ED25519_SIGNATURE_BYTES) }
}

/** The bounds that the form of the fields does not give. */
export function refuseOutOfBounds({ qos, traps }: ProofBody): void {
  if (qos.availabilityPpm > PPM) {
    throw invalidParams('qos.availability_ppm', `at most ${PPM}`, `${qos.availabilityPpm}`)
  }
  if (traps === null) return
  if (traps.shots < 1n) throw invalidParams('traps.shots', 'at least 1')
  if (traps.passed > traps.shots) {
    throw invalidParams('traps.passed', `at most traps.shots (${traps.shots})`, `${traps.passed}`)
  }
}

/** Canonical CBOR of a map, or `InvalidParams` naming `field`. */
export function decodeMap(bytes: Uint8Array, field: string): CborMap {
  let value: CborValue
  try {
    value = decodeCbor(bytes)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    throw new FairleadError(
      'InvalidParams',
      `${field}: ${error.message}`,
      { field },
      { cause: error },
    )
  }
  if (!isPlainObject(value)) throw invalidParams(field, 'a map in canonical CBOR')
  return value as CborMap
}

/** Refuses a missing and an unknown key, by name. */
export function refuseOtherKeys(map: CborMap, names: readonly string[], field: string): void {
  for (const name of names) {
    if (!Object.hasOwn(map, name)) throw invalidParams(name, `to be in the ${field}`, 'nothing')
  }
  for (const name of Object.keys(map)) {
    if (!names.includes(name)) throw invalidParams(name, `no such field in the ${field}`)
  }
}

export function bytesIn(map: CborMap, name: string, length: number): Uint8Array {
  const value = map[name]
  if (value instanceof Uint8Array && value.length === length) return value
  throw invalidParams(name, `${length} bytes`)
}

const BODY_FIELDS = [
  'chain_id',
  'task_id',
  'provider_id',
  'lease_id',
  'output_digest',
  'units_ppm',
  'qos',
  'attestation_hash',
]
const QOS_FIELDS = ['p95_latency_ms', 'availability_ppm']
const TRAP_FIELDS = ['shots', 'passed']

function bodyMap(body: ProofBody): CborMap {
  const { qos, traps } = body
  const map = {
    chain_id: body.chainId,
    task_id: bytesOf(body.taskId),
    provider_id: body.providerId,
    lease_id: bytesOf(body.leaseId),
    output_digest: bytesOf(body.outputDigest),
    units_ppm: body.unitsPpm,
    qos: { p95_latency_ms: qos.p95LatencyMs, availability_ppm: qos.availabilityPpm },
    attestation_hash: bytesOf(body.attestationHash),
  }
  if (traps === null) return map
  return { ...map, traps: { shots: traps.shots, passed: traps.passed } }
}

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  invariant(bytes?.length === 32, 'a hash is 32 bytes as 0x hex')
  return bytes
}

function mapIn(map: CborMap, name: string, names: readonly string[]): CborMap {
  const value = map[name]
  if (!isPlainObject(value)) throw invalidParams(name, 'a map')
  refuseOtherKeys(value as CborMap, names, name)
  return value as CborMap
}

function u64In(map: CborMap, name: string, prefix = ''): bigint {
  const value = map[name]
  const read = typeof value === 'string' ? null : readU64(value)
  if (read === null) throw invalidParams(prefix + name, 'a whole number from 0 to 2^64 − 1')
  return read
}

function textIn(map: CborMap, name: string): string {
  const value = map[name]
  if (typeof value !== 'string') throw invalidParams(name, 'text')
  return value
}

function hexIn(map: CborMap, name: string, length: number): string {
  return toHex(bytesIn(map, name, length))
}
