import {
  type ErrorCode,
  FairleadError,
  type JobId,
  type KindName,
  nullifierOf,
} from '@fairlead/core'
import {
  type AcceptedProof,
  type ClaimEvent,
  Claims,
  type ClaimTerms,
  KINDS,
  type ProofVerdict,
} from '@fairlead/core/internal'
import { type Json, refusal } from '../../suite.ts'

/** A script of `proof`: completions, proofs, blocks and cancels, and the claims that they make. */
export function claimScript(input: Json): Json {
  const script = new ClaimScript(input)
  return { steps: input.steps.map((step: Json) => script.step(step)) }
}

class ClaimScript {
  readonly #claims = new Claims()
  readonly #terms: ClaimTerms
  readonly #chainId: number
  /** Jobs, with the events of FINAL claims: those leave the state. */
  readonly #known = new Set<string>()
  readonly #final = new Map<string, string>()
  #now = 0

  constructor({ chain_id, chain, finality_k = 12, proof_timeout_secs = 600 }: Json) {
    this.#chainId = chain_id
    this.#terms = {
      hasChain: chain,
      finalityK: finality_k,
      proofTimeoutMs: 1_000 * proof_timeout_secs,
      minerId: 'operator',
    }
  }

  step(step: Json): Json {
    this.#now = Math.max(this.#now, step.at)
    const events: ClaimEvent[] = [...this.#claims.expire(this.#terms, this.#now)]
    let given: string | null = null
    const error = refusal(() => {
      given = this.#run(step, events)
    })
    for (const { type, taskId, ...rest } of events) {
      if (type === 'final' && 'claim' in rest)
        this.#final.set(taskId as string, rest.claim.nullifier)
    }
    const shown = events.map((event) => this.#shown(event, step))
    return { error: error ?? given, events: shown, state: this.#state() }
  }

  /** The code of a refusal that is not thrown. */
  #run(step: Json, events: ClaimEvent[]): string | null {
    const { op, task_id: taskId } = step
    if (op === 'complete') {
      this.#known.add(taskId)
      const { lease_id: leaseId, kind } = step
      this.#claims.complete({ taskId, leaseId, kind, since: this.#now, unitMs: 0 })
    } else if (op === 'cancel') this.#cancel(taskId)
    else if (op === 'submit') {
      const check = (): ProofVerdict => this.#check(step.proof)
      const answer = this.#claims.submit(this.#terms, this.#now, check)
      events.push(...answer.events)
      return answer.error?.code ?? null
    } else if (op === 'block') {
      const { height, time: timeMs } = step
      const proofs = step.proofs.map((item: Json) => ({ item, txHash: '0x' }))
      const block = { height, timeMs, minerId: 'miner', proofs }
      const check = (item: Json): ProofVerdict => this.#check(item)
      events.push(...this.#claims.applyBlock(this.#terms, this.#now, block, check))
    } else if (op !== 'tick') throw new TypeError(`unknown op ${op}`)
    return null
  }

  /** A job that is COMPLETED or unknown cannot be cancelled; that is not a matter of its claim. */
  #cancel(taskId: JobId): void {
    if (!this.#known.has(taskId)) throw new FairleadError('NotFound', 'there is no such job')
    if (this.#final.has(taskId)) throw new FairleadError('InvalidState', 'the job is COMPLETED')
    this.#claims.cancel(taskId)
  }

  /** Checks 3, 4, and lease and kind of 5 against the claims; a script gives the answer of all others. */
  #check(proof: Json): ProofVerdict {
    const { task_id: taskId, lease_id: leaseId, check } = proof
    const kind: KindName = proof.kind
    const nullifier = this.#nullifier(proof)
    const awaited = this.#claims.awaitOf(taskId)
    const isClaimed =
      this.#claims.isPending(nullifier) || [...this.#final.values()].includes(nullifier)
    if (check === 'InvalidParams') return refused(taskId, check)
    if (isClaimed) return refused(taskId, 'NullifierReused')
    if (!this.#known.has(taskId)) return refused(taskId, 'NotFound')
    if (awaited === null) return refused(taskId, check === 'Forbidden' ? check : 'InvalidState')
    if (awaited.kind !== kind || awaited.leaseId !== leaseId)
      return refused(taskId, 'ClaimMismatch')
    if (check === 'traps') return refused(taskId, 'AttestationError', FAILED_TRAPS)
    if (check !== null) return refused(taskId, check)
    const accepted: AcceptedProof = {
      taskId,
      leaseId,
      providerId: 'provider:a' as AcceptedProof['providerId'],
      kind,
      envelopeHash: '0x',
      nullifier,
      unitsPpm: 0n,
      qos: { p95LatencyMs: 0n, availabilityPpm: 0n },
      traps: null,
    }
    return { accepted, error: null }
  }

  #nullifier({ kind, task_id: taskId, lease_id: leaseId }: Json): string {
    const typeId = KINDS[kind as KindName].proof?.typeId ?? 0
    return nullifierOf({ typeId, chainId: this.#chainId, taskId, leaseId })
  }

  #shown(event: ClaimEvent, step: Json): Json {
    const { taskId } = event
    switch (event.type) {
      case 'accepted': {
        const { blockHeight, nullifier, claimKey } = event.claim
        const rest = { block_height: blockHeight, nullifier, claim_key: claimKey }
        return { event: 'accepted', task_id: taskId, ...rest }
      }
      case 'refused': {
        const { task_id } = step.proofs[event.place]
        return { event: 'refused', task_id, error: event.error.code }
      }
      case 'proofInvalid':
        return { event: 'proof_invalid', task_id: taskId, reason: event.reason }
      case 'dropped':
        return { event: 'dropped', task_id: taskId }
      case 'final':
        return { event: 'final', task_id: taskId, finalized_height: event.finalizedHeight }
    }
  }

  #state(): Json {
    const { awaits, pending, head, finalHeight } = this.#claims.state()
    const { proofTimeoutMs } = this.#terms
    return {
      awaits: Object.fromEntries(
        awaits.map(({ taskId, leaseId, since }) => [
          taskId,
          { lease_id: leaseId, proof_by: since + proofTimeoutMs },
        ]),
      ),
      pending: pending.map(({ taskId, blockHeight }) => ({
        task_id: taskId,
        block_height: blockHeight,
      })),
      head,
      final_height: finalHeight,
    }
  }
}

const FAILED_TRAPS = { shots: 1n, passed: 0n }

function refused(
  taskId: JobId,
  code: ErrorCode,
  failedTraps: typeof FAILED_TRAPS | null = null,
): ProofVerdict {
  return { accepted: null, error: new FairleadError(code, code), taskId, failedTraps }
}
