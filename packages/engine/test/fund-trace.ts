import {
  buildProof,
  type JobId,
  type KindName,
  type LeaseId,
  NO_ATTESTATION,
  type ProviderId,
  publicKeyOf,
  taggedHash,
  taggedHashHex,
  toHex,
} from '@fairlead/core'
import { type Await, computeClose, epochOf, KINDS, type SeededDice } from '@fairlead/core/internal'
import type { EngineState, Submission } from '@fairlead/engine'

/** Settings of a fund in which every judgement and every cap happens within seconds. */
export const SHORT_FUND = {
  completion: { ai_verification: 'proof', quantum_verification: 'proof', proof_timeout_secs: 3 },
  economics: { gamma_fund: 1_500, cap: 'defer', carry_ppm: 500_000 },
  sla: {
    window: 12,
    min_samples: 3,
    slash: {
      traps: { samples: 50 },
      fails: { samples: 2 },
      latency: { samples: 2, minor: 20 },
      availability: { samples: 2 },
    },
    severity: { minor: { slash: 30 }, major: { slash: 60 }, critical: { slash: 90 } },
  },
} as const

/** The secret key of a provider of a trace. */
export function secretOf(providerId: ProviderId): Uint8Array {
  return taggedHash('secret', providerId)
}

export function keyOf(providerId: ProviderId): string {
  return toHex(publicKeyOf(secretOf(providerId)))
}

export interface ProofChanges {
  readonly unitsPpm?: bigint
  readonly passed?: bigint
  readonly secretKey?: Uint8Array
  readonly outputDigest?: string
}

/** Completed work, as its proof tells of it. */
export interface Work {
  readonly taskId: JobId
  readonly leaseId: LeaseId
  readonly kind: KindName
  readonly providerId: ProviderId
  readonly outputDigest: string
  readonly units: number
}

/** The proof of some work, with some of it changed. */
export function proofOf(work: Work, changes: ProofChanges = {}): Uint8Array {
  const { taskId, leaseId, kind, providerId, units } = work
  const type = KINDS[kind].proof
  if (type === null) throw new Error(`no proof of ${kind} work exists`)
  const { unitsPpm = BigInt(units) * 1_000_000n, passed = 100n } = changes
  const { secretKey = secretOf(providerId), outputDigest = work.outputDigest } = changes
  const { envelope } = buildProof({
    typeId: type.typeId,
    secretKey,
    body: {
      chainId: 1n,
      taskId,
      providerId,
      leaseId,
      outputDigest,
      unitsPpm,
      qos: { p95LatencyMs: 900n, availabilityPpm: 999_000n },
      attestationHash: NO_ATTESTATION,
      traps: type.hasTraps ? { shots: 100n, passed } : null,
    },
  })
  return envelope
}

/** The work whose proof is awaited. */
function awaitedWork({ market }: EngineState, { taskId, leaseId, kind }: Await): Work {
  const lease = market.leases.get(leaseId)
  if (lease === undefined) throw new Error(`there is no lease ${leaseId}`)
  const { provider, digest, job } = lease
  return {
    taskId,
    leaseId,
    kind,
    providerId: provider.id,
    outputDigest: digest as string,
    units: job.units,
  }
}

/** Asks for what a fund does: proofs good and bad, blocks, stake, payouts and closes. */
export class FundTrace {
  readonly #dice: SeededDice
  #made = 0
  #sent: Uint8Array[] = []

  constructor(dice: SeededDice) {
    this.#dice = dice
  }

  /** The time is that of the trace: a command that is refused moves the clock of a state, and nothing stores that. */
  next(state: EngineState, nowMs: number, providerId: ProviderId): Submission {
    const { fund, policy } = state.market
    this.#made++
    switch (this.#dice.draw(14)) {
      case 0:
        return { type: 'stake', providerId, amount: BigInt(1 + this.#dice.draw(500)) }
      case 1:
        return { type: 'unstake', providerId, amount: BigInt(1 + this.#dice.draw(200)) }
      case 2:
      case 3:
        return this.#close(state, nowMs)
      case 4: {
        const account = this.#pick([providerId, 'fund', 'miner:operator', 'miner:m1'])
        const amount = BigInt(1 + this.#dice.draw(50))
        return { type: 'recordPayout', account, amount, reference: `r${this.#dice.draw(40)}` }
      }
      case 5:
        return { type: 'openChallenge', providerId, value: taggedHashHex('challenge', this.#made) }
      case 6: {
        const publicKey = this.#dice.draw(8) === 0 ? null : keyOf(providerId)
        return { type: 'setKey', providerId, publicKey }
      }
      default:
        if (policy.chain.source === 'blocks') return this.#block(state, nowMs)
        return this.#submit(state, fund.claims.state().awaits, providerId)
    }
  }

  #close(state: EngineState, nowMs: number): Submission {
    const { fund, policy } = state.market
    const input = fund.closingInput()
    if (input !== null) {
      // Its batch is computed again by the state.
      return { type: 'settleEpoch', epochId: input.epochId, batchId: batchIdOf(state) }
    }
    const current = epochOf(nowMs, policy)
    const epochId = fund.nextClose(current) ?? current - 1 + this.#dice.draw(2)
    const auditHead = taggedHashHex('head', this.#made)
    return { type: 'closeEpoch', epochId, auditSeq: this.#made, auditHead }
  }

  #submit(state: EngineState, awaits: readonly Await[], other: ProviderId): Submission {
    const proof = this.#proof(state, awaits)
    const holder = proof.by ?? other
    const by = this.#dice.draw(10) === 0 ? other : this.#pick([holder, null])
    return { type: 'submitProof', proof: proof.given, by }
  }

  #block(state: EngineState, nowMs: number): Submission {
    const { claims } = state.market.fund
    const { head } = claims.chain
    const back = this.#dice.draw(4) === 0 ? this.#dice.draw(5) : 0
    const height = Math.max(0, (head ?? 100) + 1 - back)
    const { awaits } = claims.state()
    const proofs = Array.from({ length: this.#dice.draw(4) }, (_, i) => ({
      item: this.#proof(state, awaits).given,
      txHash: taggedHashHex('tx', this.#made, i),
    }))
    const timeMs = Math.max(0, nowMs - this.#dice.draw(2_000) + 500)
    const minerId = this.#pick(['m1', 'm2'])
    return { type: 'applyBlock', block: { height, timeMs, minerId, proofs } }
  }

  #proof(state: EngineState, awaits: readonly Await[]) {
    const awaited = awaits[this.#dice.draw(Math.max(1, awaits.length))]
    const sent = this.#sent[this.#dice.draw(Math.max(1, this.#sent.length))]
    if (awaited === undefined || (sent !== undefined && this.#dice.draw(6) === 0)) {
      // One that was sent before, or no proof at all.
      return { given: { envelope: sent ?? Uint8Array.of(0xa0), derivedTaskId: null }, by: null }
    }
    const by = state.market.leases.get(awaited.leaseId)?.provider.id ?? null
    const envelope = proofOf(awaitedWork(state, awaited), this.#changes())
    this.#sent = [...this.#sent.slice(-5), envelope]
    return { given: { envelope, derivedTaskId: awaited.taskId }, by }
  }

  #changes(): ProofChanges {
    switch (this.#dice.draw(10)) {
      case 0:
        return { unitsPpm: 1_000_000_000n }
      case 1:
        return { passed: 60n }
      case 2:
        return { secretKey: taggedHash('secret', 'nobody') }
      case 3:
        return { outputDigest: taggedHashHex('another output') }
      default:
        return { unitsPpm: BigInt(this.#dice.draw(1_000_000)), passed: 100n }
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#dice.draw(list.length)] as T
  }
}

/** The batch of the epoch that is being closed. */
function batchIdOf({ market }: EngineState): string | null {
  const input = market.fund.closingInput()
  return input === null ? null : computeClose(input).effect.batchId
}
