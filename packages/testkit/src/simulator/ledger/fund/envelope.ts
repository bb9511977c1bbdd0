import { createPublicKey, verify } from 'node:crypto'
import {
  type CborMap,
  decodeCbor,
  encodeCbor,
  FairleadError,
  type JobId,
  type LeaseId,
  nullifierOf,
  sha3Hex,
  taggedHash,
} from '@fairlead/core'

/** A proof as anybody can read it. */
export interface Envelope {
  readonly typeId: number
  readonly chainId: bigint
  readonly taskId: JobId
  readonly leaseId: LeaseId
  readonly providerId: string
  readonly outputDigest: string
  readonly unitsPpm: bigint
  readonly attestationHash: string
  readonly traps: Traps | null
  readonly envelopeHash: string
  /** As it is named, and as it should be. */
  readonly nullifier: string
  readonly ownNullifier: string
  isSignedBy(publicKey: string): boolean
}

export interface Traps {
  readonly shots: bigint
  readonly passed: bigint
}

/** Comes before the 32 bytes of an Ed25519 key in DER. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** Null if the bytes are no proof. The simulated senders make no proof that is nearly one. */
export function readEnvelope(bytes: Uint8Array): Envelope | null {
  const outer = mapIn(bytes)
  const inner = outer?.['body'] instanceof Uint8Array ? mapIn(outer['body']) : null
  if (outer === null || inner === null) return null
  const { signature, ...signed } = inner
  const typeId = Number(outer['type_id'])
  const chainId = BigInt(inner['chain_id'] as number)
  const taskId = hex(inner['task_id']) as JobId
  const leaseId = hex(inner['lease_id']) as LeaseId
  const traps = inner['traps'] as Readonly<Record<string, number>> | undefined
  return {
    typeId,
    chainId,
    taskId,
    leaseId,
    providerId: inner['provider_id'] as string,
    outputDigest: hex(inner['output_digest']),
    unitsPpm: BigInt(inner['units_ppm'] as number),
    attestationHash: hex(inner['attestation_hash']),
    traps:
      traps === undefined
        ? null
        : { shots: BigInt(traps['shots'] ?? 0), passed: BigInt(traps['passed'] ?? 0) },
    envelopeHash: sha3Hex(bytes),
    nullifier: hex(outer['nullifier']),
    ownNullifier: nullifierOf({ typeId, chainId, taskId, leaseId }),
    isSignedBy: (publicKey) => {
      const der = Buffer.concat([SPKI, Buffer.from(publicKey.slice(2), 'hex')])
      const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
      const message = taggedHash('AICF|proof', typeId, encodeCbor(signed))
      return verify(null, message, key, signature as Uint8Array)
    },
  }
}

function mapIn(bytes: Uint8Array): CborMap | null {
  try {
    const value = decodeCbor(bytes) as CborMap | null
    const isMap = typeof value === 'object' && value !== null && Object.keys(value).length > 0
    return isMap ? value : null
  } catch (error) {
    if (error instanceof FairleadError) return null
    throw error
  }
}

function hex(bytes: unknown): string {
  return `0x${Buffer.from(bytes as Uint8Array).toString('hex')}`
}
