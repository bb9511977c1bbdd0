import {
  type AuditEntry,
  type ClaimLine,
  claimKey,
  EMPTY_AUDIT,
  fromHex,
  type JobId,
  type ListedBatch,
  type Policy,
  type ProviderId,
  parsePolicy,
  type SettledBatch,
  sha3Hex,
} from '@fairlead/core'
import {
  appendAudit,
  type Band,
  type BilledClaim,
  closeEpoch,
  Epochs,
  Ledger,
} from '@fairlead/core/internal'

export const EPOCH = 490_000
export const EPOCH_MS = 3_600_000

/** The terms of a claim beside its units. */
export interface Work {
  readonly kind: 'ai' | 'quantum'
  readonly band: Band
  readonly depthHint: number
}

/** 32 bytes that a name stands for. */
export const hash32 = (name: string): string => sha3Hex(Buffer.from(name))

/** A fund with its audit log: each close is bound to the newest entry, and is in the log itself. */
export class SettledFund {
  readonly ledger = new Ledger()
  readonly entries: AuditEntry[] = []
  readonly #epochs = new Epochs()
  readonly #policy: Policy
  readonly #name: string
  #claims = 0

  /** The name decides about the claim keys, and so about the order of lines. */
  constructor(economics: object = {}, name = 'task') {
    this.#name = name
    this.#policy = parsePolicy({ economics }, 'fund')
  }

  /** A claim that becomes FINAL in an epoch; ai work in silver, unless it says otherwise. */
  claim(providerId: string, units: number, epoch = EPOCH, work: Partial<Work> = {}): ClaimLine {
    const n = this.#claims++
    const taskId = hash32(`${this.#name} ${n}`) as JobId
    const nullifier = hash32(`nullifier ${n}`)
    const { kind = 'ai', band = 'silver', depthHint = 0 } = work
    const claim: BilledClaim = {
      claimKey: claimKey({ taskId, height: 1, nullifier: fromHex(nullifier) as Uint8Array }),
      taskId,
      kind,
      providerId: providerId as ProviderId,
      minerId: 'operator',
      envelopeHash: hash32(`envelope ${n}`),
      nullifier,
      blockHeight: 1,
      unitsPpm: BigInt(units * 1_000_000),
    }
    const terms = { nowMs: epoch * EPOCH_MS, policy: this.#policy }
    return this.#epochs.add(claim, { band, model: 'm', depthHint }, terms)
  }

  close(epochId = EPOCH, slashes: Readonly<Record<string, bigint>> = {}): SettledBatch {
    const { seq, hash } = this.#log(epochId, 'jobCompleted', {})
    const terms = {
      epochId,
      nowMs: (epochId + 1) * EPOCH_MS,
      policy: this.#policy,
      slashes: Object.entries(slashes).map(([providerId, amount]) => ({ providerId, amount })),
      auditSeq: seq,
      auditHead: hash,
    }
    const input = this.#epochs.freeze(terms, this.ledger)
    const close = input === null ? null : closeEpoch(input)
    if (close === null || close.batch === null) throw new Error(`epoch ${epochId} has no batch`)
    this.#epochs.apply(close, this.ledger)
    const { batch, batchId, claims, payouts } = close as typeof close & ListedBatch
    this.#log(epochId, 'epochSettled', { batchId })
    const { economics, sla } = this.#policy
    return { batchId, batch, claims, payouts, policy: { economics, sla } }
  }

  /** The log as `fairlead audit export` writes it. */
  exported(afterSeq = 0): string {
    const lines = this.entries.slice(afterSeq).map(({ prevHash, ...entry }) => {
      return `${JSON.stringify({ ...entry, prev_hash: prevHash })}\n`
    })
    return lines.join('')
  }

  #log(epochId: number, action: string, details: AuditEntry['details']): AuditEntry {
    const head = this.entries.at(-1) ?? EMPTY_AUDIT
    const at = (epochId + 1) * EPOCH_MS
    const record = { at, actor: 'engine', action, subject: `epoch ${epochId}`, details }
    const entry = appendAudit(head, record)
    this.entries.push(entry)
    return entry
  }
}
