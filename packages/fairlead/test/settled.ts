import {
  type AuditEntry,
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
import { appendAudit, type BilledClaim, closeEpoch, Epochs, Ledger } from '@fairlead/core/internal'

export const EPOCH = 490_000
const EPOCH_MS = 3_600_000

/** 32 bytes that a name stands for. */
export const hash32 = (name: string): string => sha3Hex(Buffer.from(name))

/** A fund with its audit log: each close is bound to the newest entry, and is in the log itself. */
export class SettledFund {
  readonly ledger = new Ledger()
  readonly entries: AuditEntry[] = []
  readonly #epochs = new Epochs()
  readonly #policy: Policy
  #claims = 0

  constructor(economics: object = {}) {
    this.#policy = parsePolicy({ economics }, 'fund')
  }

  /** `units` of ai work at 1,000 base units each, in silver. */
  claim(providerId: string, units: number, epoch = EPOCH): void {
    const n = this.#claims++
    const taskId = hash32(`task ${n}`) as JobId
    const nullifier = hash32(`nullifier ${n}`)
    const claim: BilledClaim = {
      claimKey: claimKey({ taskId, height: 1, nullifier: fromHex(nullifier) as Uint8Array }),
      taskId,
      kind: 'ai',
      providerId: providerId as ProviderId,
      minerId: 'operator',
      envelopeHash: hash32(`envelope ${n}`),
      nullifier,
      blockHeight: 1,
      unitsPpm: BigInt(units * 1_000_000),
    }
    const work = { band: 'silver' as const, model: 'm', depthHint: 0 }
    this.#epochs.add(claim, work, { nowMs: epoch * EPOCH_MS, policy: this.#policy })
  }

  close(epochId = EPOCH, slashes: Readonly<Record<string, bigint>> = {}): SettledBatch {
    const { seq, hash } = this.#log('jobCompleted', {})
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
    this.#log('epochSettled', { batch_id: batchId })
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

  #log(action: string, details: AuditEntry['details']): AuditEntry {
    const head = this.entries.at(-1) ?? EMPTY_AUDIT
    const record = { at: 1, actor: 'engine', action, subject: 'x', details }
    const entry = appendAudit(head, record)
    this.entries.push(entry)
    return entry
  }
}
