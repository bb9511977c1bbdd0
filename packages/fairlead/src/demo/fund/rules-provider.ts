import {
  attestationHash,
  attestationMessage,
  buildProof,
  type JobId,
  type LeaseId,
  type Policy,
  type ProviderId,
  type ProviderStatus,
  publicKeyOf,
  signEd25519,
  taggedHash,
  taggedHashHex,
  toHex,
} from '@fairlead/core'
import {
  type AcceptedAttestation,
  admitted,
  checkAttestation,
  jailed,
  NEW_STANDING,
  OutcomeWindow,
  type Standing,
  statusOf,
} from '@fairlead/core/internal'
import type { CertificateAuthority } from './authority.ts'
import { type FundProvider, HARDWARE, TRAP_SHOTS, TRAPS_PASSED } from './cast.ts'

/** A completed lease of the simulated fund. */
export interface SimulatedLease {
  readonly taskId: JobId
  readonly leaseId: LeaseId
  readonly units: number
  readonly depthHint: number
  readonly digest: string
  readonly elapsedMs: number
  readonly completedAt: number
  /** The number of the job among those of its provider, from 1. */
  readonly turn: number
}

/** A provider of the simulated fund: its key, its attestation, its service and its standing. */
export class RulesProvider {
  readonly id: ProviderId
  readonly member: FundProvider
  readonly publicKey: string
  readonly attestation: AcceptedAttestation
  readonly window = new OutcomeWindow()
  offenceEpochs: readonly number[] = []
  cooldownUntil: number | null = null
  standing: Standing = NEW_STANDING
  jobs = 0
  completed = 0
  notProved = 0
  slashed = 0n
  readonly #secretKey: Uint8Array

  constructor(
    member: FundProvider,
    terms: {
      readonly seed: number
      readonly nowMs: number
      readonly policy: Policy
      readonly authority: CertificateAuthority
    },
  ) {
    const { seed, nowMs, policy, authority } = terms
    this.member = member
    this.id = `provider:${member.name}` as ProviderId
    this.#secretKey = taggedHash('fairlead|demo key', seed, member.name)
    const publicKey = publicKeyOf(this.#secretKey)
    this.publicKey = toHex(publicKey)
    const chain = authority.chainFor(member.name, publicKey)
    const challenge = taggedHashHex('fairlead|demo challenge', seed, member.name)
    const chainId = policy.chain.id
    const hash = attestationHash(HARDWARE, chain)
    const signed = { chainId, providerId: this.id, challenge, attestationHash: hash }
    this.attestation = checkAttestation({
      nowMs,
      chainId,
      providerId: this.id,
      publicKey: this.publicKey,
      className: HARDWARE,
      chain,
      signature: signEd25519(this.#secretKey, attestationMessage(signed)),
      challenge: { value: challenge, expiresAt: nowMs + 1 },
      classes: policy.registry.attestationClasses,
      revoked: policy.registry.attestationRevoked,
    })
  }

  /** Stake and attestation are there: it gets work from now on. */
  admit(stake: bigint, nowMs: number, policy: Policy): void {
    const { attestation } = this
    const credentials = { kinds: [this.member.kind], stake, attestation }
    this.standing = admitted(this.standing, credentials, { nowMs, policy })
  }

  statusAt(nowMs: number): ProviderStatus {
    return statusOf(this.standing, nowMs)
  }

  getsWorkAt(nowMs: number): boolean {
    const isCooling = this.cooldownUntil !== null && nowMs < this.cooldownUntil
    return this.statusAt(nowMs) === 'ACTIVE' && !isCooling
  }

  sentToJail(nowMs: number, epochs: number, epochSecs: number): void {
    this.standing = jailed(this.standing, { nowMs, epochs, epochSecs })
  }

  traps(turn: number): { shots: bigint; passed: bigint } | null {
    if (this.member.kind !== 'quantum') return null
    const { failsTrapsEvery } = this.member
    const isBad = failsTrapsEvery !== undefined && turn % failsTrapsEvery === 0
    const passed = isBad ? TRAPS_PASSED.badly : TRAPS_PASSED.well
    return { shots: BigInt(TRAP_SHOTS), passed: BigInt(passed) }
  }

  proofOf(lease: SimulatedLease, chainId: bigint): Uint8Array {
    const { envelope } = buildProof({
      typeId: this.member.kind === 'ai' ? 2 : 3,
      secretKey: this.#secretKey,
      body: {
        chainId,
        taskId: lease.taskId,
        providerId: this.id,
        leaseId: lease.leaseId,
        outputDigest: lease.digest,
        unitsPpm: BigInt(lease.units) * 1_000_000n,
        qos: { p95LatencyMs: BigInt(lease.elapsedMs), availabilityPpm: 1_000_000n },
        attestationHash: this.attestation.hash,
        traps: this.traps(lease.turn),
      },
    })
    return envelope
  }
}
