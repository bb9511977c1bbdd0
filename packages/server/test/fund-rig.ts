import { createHash } from 'node:crypto'
import {
  attestationHash,
  attestationMessage,
  buildProof,
  fromHex,
  type JobId,
  type LeaseId,
  NO_ATTESTATION,
  type ProviderId,
  publicKeyOf,
  sha3Hex,
  signEd25519,
  toHex,
} from '@fairlead/core'
import { issueRoot } from '@fairlead/core/internal'
import type { ParamsOf } from '@fairlead/protocol'
import { AI, type Rig } from './rig.ts'

export const ATLAS = 'provider:atlas' as ProviderId
const SECRET = Buffer.alloc(32, 7)
export const PUBLIC_KEY = toHex(publicKeyOf(SECRET))
const OUTPUT = '0x6f7574'

export const VALID = { notBefore: 1_700_000_000_000, notAfter: 4_000_000_000_000 }
const ROOT = issueRoot({ subject: 'gpu', signedBy: SECRET, ...VALID })
const FINGERPRINT = `0x${createHash('sha256').update(ROOT).digest('hex')}`
export const ATTESTATION_HASH = attestationHash('enclave', [ROOT])

/** A fund in which ai work needs proofs. */
export const FUND = {
  queue: { completion: { ai_verification: 'proof' }, quotas: { epoch_secs: 1 } },
  registry: { attestation_classes: { enclave: { kinds: ['ai'], roots: [FINGERPRINT] } } },
}

/** What atlas says when it registers. */
export const REGISTRATION = {
  provider_id: ATLAS,
  kinds: ['ai' as const],
  models: ['*'],
  public_key: PUBLIC_KEY,
}

export interface Work {
  readonly taskId: JobId
  readonly leaseId: LeaseId
}

/** A job of alice that atlas has completed, and that awaits its proof. */
export async function completed(rig: Rig): Promise<Work> {
  const { task_id } = await rig.call('alice', 'aicf.enqueue', AI)
  const worker = { worker_id: 'w', slots: 1 }
  const { leases } = await rig.call('atlas', 'aicf.pollLeases', { ...worker, wait_ms: 5_000 })
  const lease_id = leases[0]?.lease_id as LeaseId
  await rig.call('atlas', 'aicf.completeLease', { lease_id, worker_id: 'w', output: OUTPUT })
  return { taskId: task_id, leaseId: lease_id }
}

/** The envelope of a proof of it. */
export function proofOf(
  { taskId, leaseId }: Work,
  { unitsPpm = 3_250_000n, secretKey = SECRET as Uint8Array, attestation = NO_ATTESTATION } = {},
): string {
  const { envelope } = buildProof({
    typeId: 2,
    secretKey,
    body: {
      ...{ chainId: 1n, taskId, leaseId, providerId: ATLAS, unitsPpm },
      outputDigest: sha3Hex(fromHex(OUTPUT) as Uint8Array),
      qos: { p95LatencyMs: 420n, availabilityPpm: 999_300n },
      attestationHash: attestation,
      traps: null,
    },
  })
  return toHex(envelope)
}

/** The answer of atlas to a challenge. */
export function answerTo(challenge: string): ParamsOf<'aicf.attest'> {
  const signed = { chainId: 1n, providerId: ATLAS, challenge, attestationHash: ATTESTATION_HASH }
  const signature = toHex(signEd25519(SECRET, attestationMessage(signed)))
  return { provider_id: ATLAS, class: 'enclave', chain: [toHex(ROOT)], signature }
}

/** The epoch of the next batch; the engine closes it by itself. */
export function nextSettled({ engine }: Rig): Promise<number> {
  return new Promise((resolve) => {
    const stop = engine.onEvent((event) => {
      if (event.type !== 'epochSettled') return
      resolve(event.epochId)
      void stop.then((end) => end())
    })
  })
}

/** A block of a chain with these proofs. */
export function blockOf(height: number, ...envelopes: string[]): ParamsOf<'chain.block'> {
  return {
    ...{ height, time: Date.now(), miner_id: 'm-1' },
    proofs: envelopes.map((envelope) => ({ envelope, tx_hash: PUBLIC_KEY })),
  }
}
