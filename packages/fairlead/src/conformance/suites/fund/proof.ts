import { buildProof, FairleadError, fromHex, type ProofBody, toHex } from '@fairlead/core'
import {
  type AcceptedAttestation,
  checkAttestation,
  checkProof,
  type ProvedJob,
} from '@fairlead/core/internal'
import { amount, type Json, suite } from '../../suite.ts'
import { claimScript } from './claim-script.ts'

/** §17 and the attestations of §19: envelopes, their checks, certificates, the life of claims. */
export const proof = suite((input) => {
  const run = KINDS[input.kind]
  if (run === undefined) throw new TypeError(`kind: unknown kind ${input.kind}`)
  return run(input)
})

const KINDS: Readonly<Record<string, (input: Json) => Json>> = {
  build({ type_id: typeId, secret_key, body }) {
    const built = buildProof({ typeId, secretKey: bytes(secret_key), body: bodyOf(body) })
    return {
      public_key: toHex(built.publicKey),
      message: toHex(built.message),
      signature: toHex(built.signature),
      body: toHex(built.body),
      nullifier: built.nullifier,
      envelope: toHex(built.envelope),
      envelope_hash: built.envelopeHash,
    }
  },
  check({ envelope, context }) {
    const used = new Set(context.used_nullifiers)
    const jobs = new Map<string, Json>(context.jobs.map((job: Json) => [job.task_id, job]))
    const verdict = checkProof(bytes(envelope), {
      by: context.by,
      at: context.t,
      chainId: amount(context.chain_id),
      unitsMaxPpm: context.units_max_ppm,
      trapsMinPpm: context.traps_min_ppm,
      isClaimed: (nullifier) => used.has(nullifier),
      jobOf: (taskId) => (jobs.has(taskId) ? provedJob(jobs.get(taskId), context) : null),
    })
    if (verdict.accepted !== null) {
      return { accepted: true, error: null, reason: null, proof_invalid: false }
    }
    const { error, failedTraps } = verdict
    return { accepted: false, ...codeAndReason(error), proof_invalid: failedTraps !== null }
  },
  attest(input) {
    const { challenge } = input
    try {
      const attestation = checkAttestation({
        nowMs: input.now,
        chainId: amount(input.chain_id),
        providerId: input.provider_id,
        publicKey: input.public_key,
        className: input.class,
        chain: input.chain.map(bytes),
        signature: bytes(input.signature),
        challenge: challenge && { value: challenge.value, expiresAt: challenge.expires_at },
        classes: input.classes,
        revoked: input.revoked,
      })
      return { accepted: true, error: null, reason: null, ...shown(attestation) }
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      return { accepted: false, ...codeAndReason(error) }
    }
  },
  chain: claimScript,
}

function bodyOf({ qos, traps, ...body }: Json): ProofBody {
  return {
    chainId: amount(body.chain_id),
    taskId: body.task_id,
    providerId: body.provider_id,
    leaseId: body.lease_id,
    outputDigest: body.output_digest,
    unitsPpm: amount(body.units_ppm),
    qos: {
      p95LatencyMs: amount(qos.p95_latency_ms),
      availabilityPpm: amount(qos.availability_ppm),
    },
    attestationHash: body.attestation_hash,
    traps: traps ? { shots: amount(traps.shots), passed: amount(traps.passed) } : null,
  }
}

function provedJob(job: Json, { provider, attestation_required }: Json): ProvedJob {
  const { awaits } = job
  const { attestation } = provider
  return {
    kind: job.kind,
    derivedTaskId: job.derived_task_id,
    estimatedUnits: job.estimated_units,
    attestationRequired: attestation_required,
    awaits: awaits && {
      leaseId: awaits.lease_id,
      providerId: awaits.provider_id,
      outputDigest: awaits.output_digest,
      publicKey: provider.public_key,
      attestation: attestation && {
        hash: attestation.hash,
        notBefore: attestation.not_before,
        notAfter: attestation.not_after,
        kinds: attestation.kinds,
      },
    },
  }
}

function codeAndReason({ code, details }: FairleadError): Json {
  return { error: code, reason: code === 'AttestationError' ? details['reason'] : null }
}

function shown({ hash, notBefore, notAfter }: AcceptedAttestation): Json {
  return { attestation_hash: hash, not_before: notBefore, not_after: notAfter }
}

function bytes(hex: string): Uint8Array {
  const value = fromHex(hex)
  if (value === null) throw new TypeError(`${hex} is not 0x hex`)
  return value
}
