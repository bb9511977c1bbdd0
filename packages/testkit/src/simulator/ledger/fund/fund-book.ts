import type { ProviderId, SettledBatch } from '@fairlead/core'
import { listedBatchOf, type WriteBatch } from '@fairlead/core/internal'
import type { Command } from '@fairlead/engine'
import type { SimDisk } from '../../store/sim-disk.ts'
import { broken } from '../../violation.ts'
import type { Book, JobEntry, LeaseEntry, ProviderEntry } from '../book.ts'
import { epochAt } from '../rules/own-rules.ts'
import { Closes } from './closes.ts'
import type { Traps } from './envelope.ts'
import { FundRowCheck } from './fund-row-check.ts'
import { Money } from './money.ts'
import { isProved, Provings, type Step } from './proving.ts'
import { type Judgement, type Result, ServiceRecord } from './service.ts'

type CommandOf<Type extends Command['type']> = Extract<Command, { readonly type: Type }>
type StakeCommand = Extract<Command, { readonly type: 'stake' | 'unstake' }>

/** Judged at a close; the journal has to tell of each. */
export interface Judged {
  readonly provider: ProviderEntry
  readonly judgement: Judgement
}

/** Commands that are looked at one by one. */
const LOOKED_AT = [
  'complete',
  'submitProof',
  'applyBlock',
  'registerProvider',
  'stake',
  'unstake',
  'setProviderStatus',
  'recordPayout',
  'closeEpoch',
  'settleEpoch',
] as const
type LookedAt = Extract<Command, { readonly type: (typeof LOOKED_AT)[number] }>

/** Rows are taken before and after such a command: it is then known what it brought about. */
export function isLookedAt(command: Command): command is LookedAt {
  return LOOKED_AT.some((type) => type === command.type)
}

/**
 * The account of a fund. It hears each command before the rows that come of it, works out what must become of it, and
 * compares that with journal and rows.
 */
export class FundBook {
  readonly #book: Book
  readonly provings: Provings
  readonly money = new Money()
  readonly service = new ServiceRecord()
  readonly closes = new Closes(this.money)
  readonly #rows: FundRowCheck
  /** The next command whose rows come. */
  #next: { readonly command: LookedAt; readonly at: number } | null = null
  /** What the journal has to tell of in these rows, in this order. */
  steps: Step[] = []
  judged: Judged[] = []
  #batch: SettledBatch['batch'] | null = null
  settled = false
  #paidOut: string | null = null

  constructor(book: Book) {
    this.#book = book
    this.provings = new Provings(book)
    this.#rows = new FundRowCheck(this)
  }

  command(command: Command, at: number): void {
    if (isLookedAt(command)) this.#next = { command, at }
  }

  /** Rows come. Says what must be in them. */
  begin(disk: SimDisk): void {
    const next = this.#next
    this.#next = null
    if (next !== null) this.#carryOut(next.command, next.at, disk)
  }

  /** The journal was read: has everything been told of? */
  end(rows: WriteBatch, disk: SimDisk): void {
    const [step] = this.steps
    if (step !== undefined) broken('proof', `the journal does not tell of ${step.type}`)
    const [judged] = this.judged
    if (judged !== undefined)
      broken(
        'service',
        `the journal does not tell of ${judged.judgement.type} ${judged.provider.id}`,
      )
    if (this.#paidOut !== null) broken('books', `payout ${this.#paidOut} was not told of`)
    this.#compareBatch(rows)
    this.money.check()
    this.#rows.compare(rows.lanes, disk)
  }

  compareAll(disk: SimDisk): void {
    this.#rows.compareAll(disk)
  }

  /** A charge or a completion counts for or against a provider (SLA-1). */
  count(
    lease: LeaseEntry,
    result: Result,
    at: number,
    more: { readonly unitMs?: number; readonly traps?: Traps | null } = {},
  ): void {
    const { policy } = this.#book
    const { kind } = lease.job.facts
    if (result !== 'completed' && !isProved(kind, policy)) return
    const { unitMs = null, traps = null } = more
    const outcome = { result, epoch: epochAt(at, policy), unitMs, traps }
    this.closes.note(outcome.epoch)
    this.service.record(lease.provider.id, kind, outcome, policy)
  }

  /** The journal tells of a payout, and this command is one. */
  takePayout(): void {
    if (this.#paidOut === null) broken('books', 'a payout is told of that nobody recorded')
    this.#paidOut = null
  }

  #carryOut(command: LookedAt, at: number, disk: SimDisk): void {
    switch (command.type) {
      case 'complete':
        return this.#complete(command, at)
      case 'submitProof':
        this.steps = this.provings.submit(command.proof.envelope, command.by, at)
        if (this.steps.length === 0) broken('proof', 'a refused proof has changed something')
        return
      case 'applyBlock':
        this.steps = this.provings.block(command.block, at)
        return
      case 'registerProvider':
        if (command.stake > 0n) this.money.stake(command.providerId, command.stake)
        return
      case 'stake':
        return this.money.stake(command.providerId, command.amount)
      case 'unstake':
        return this.#unstake(command, at)
      case 'setProviderStatus':
        return this.#setStatus(command)
      case 'recordPayout':
        this.#paidOut = command.reference
        return this.money.recordPayout(command.account, command.amount, command.reference)
      case 'closeEpoch':
        return this.#beginClose(command, at, disk)
      case 'settleEpoch':
        this.#batch = this.closes.settle(command.epochId)
        this.settled = true
        if ((this.#batch === null) !== (command.batchId === null))
          broken('settlements', `epoch ${command.epochId} has the batch ${command.batchId}`)
    }
  }

  /** COMPLETE-2: the lease is over, and its job awaits its proof. */
  #complete(command: CommandOf<'complete'>, at: number): void {
    const { policy, leases } = this.#book
    const lease = leases.get(command.leaseId)
    if (lease === undefined) broken('journal', `lease ${command.leaseId} was never issued`)
    const { job, tStart, gaps } = lease
    if (!isProved(job.facts.kind, policy)) return
    if (job.lease !== lease) broken('proof', `lease ${lease.id} is completed, and was over`)
    if (command.by !== lease.provider.id)
      broken('answer', `lease ${lease.id} was completed by ${command.by}`)
    const until = lease.acked ? lease.deadline : Math.min(lease.deadline, lease.ackBy)
    if (at >= until) broken('deadline', `lease ${lease.id} was completed ${at - until} ms late`)
    const units = command.actualUnits ?? job.facts.units
    lease.acked = true
    lease.digest = command.digest
    this.#book.awaited.push({ lease, units })
    const ms = Math.max(0, at - tStart - gaps)
    const unitMs = Math.floor(ms / Math.max(1, job.facts.units))
    const { output, contentType = null } = command
    const said = { units, output, contentType: output === null ? null : contentType }
    this.provings.begin(job, { lease, since: at, unitMs, said, claim: null })
  }

  #unstake({ providerId, amount }: StakeCommand, at: number): void {
    const { unstakeDelaySecs } = this.#book.policy.registry
    if (this.closes.begun !== null) broken('books', `${providerId} unstakes during a close`)
    if (amount > this.money.balance(`stake:${providerId}`))
      broken('books', `${providerId} takes out more than its stake`)
    this.money.unstake(providerId, amount, at + 1_000 * unstakeDelaySecs)
  }

  #setStatus({ providerId, status }: CommandOf<'setProviderStatus'>): void {
    const provider = this.#book.providers.get(providerId)
    if (provider === undefined) return
    if (status === 'JAILED') provider.jailedUntil = Number.POSITIVE_INFINITY
    if (status === 'ACTIVE' || status === 'SUSPENDED') provider.jailedUntil = null
  }

  /** SLA-4 to SLA-8, and the anchor in the audit log (SETTLE-16). */
  #beginClose(command: CommandOf<'closeEpoch'>, at: number, disk: SimDisk): void {
    const { policy, providers } = this.#book
    const { epochId, auditSeq, auditHead } = command
    const epochMs = 1_000 * policy.queue.quotas.epochSecs
    if (at < epochMs * (epochId + 1)) broken('settlements', `epoch ${epochId} is closed early`)
    const entry = disk.chain()[auditSeq - 1]
    if (auditSeq > 0 && entry?.hash !== auditHead)
      broken('settlements', `epoch ${epochId} names another entry ${auditSeq} of the audit log`)
    const slashes = new Map<string, bigint>()
    const stakes = new Map<string, bigint>()
    for (const id of this.service.providers()) {
      const provider = providers.get(id as ProviderId)
      const judgement = this.service.judge(id, epochId, this.money.atStake(id), policy)
      if (provider === undefined || judgement === null) continue
      this.judged.push({ provider, judgement })
      if (judgement.type === 'warning') continue
      stakes.set(id, this.money.balance(`stake:${id}`))
      if (judgement.amount > 0n) slashes.set(id, judgement.amount)
      this.service.offend(id, epochId)
      const until = (epochs: number): number => at + epochs * epochMs
      const { cooldownEpochs, jailEpochs } = judgement
      if (cooldownEpochs > 0)
        provider.cooldownUntil = Math.max(provider.cooldownUntil ?? 0, until(cooldownEpochs))
      if (jailEpochs > 0)
        provider.jailedUntil = Math.max(provider.jailedUntil ?? 0, until(jailEpochs))
    }
    const { economics } = policy
    this.closes.begin({ epochId, at, economics, slashes, stakes, auditSeq, auditHead })
  }

  #compareBatch({ settlements }: WriteBatch): void {
    if (settlements.length > (this.#batch === null ? 0 : 1))
      broken('settlements', `epoch ${settlements[0]?.epochId} has a batch, and nobody closed it`)
    if (this.#batch === null) return
    const [row] = settlements
    if (row?.epochId !== this.#batch.epochId)
      broken('settlements', `the batch of epoch ${this.#batch.epochId} is not stored`)
    this.closes.compare(this.#batch, listedBatchOf(row) as SettledBatch)
    this.#batch = null
  }
}

/** Its claim is FINAL: it is priced by what was known before, then it counts. */
export function bill(
  fund: FundBook,
  job: JobEntry,
  step: Step & { type: 'final' },
  at: number,
  book: Book,
): void {
  const { proving } = job
  if (proving === null) broken('claim-final', `job ${job.facts.id} is FINAL, and awaited nothing`)
  const { claim } = step
  fund.closes.price(claim, at, book.policy, fund.service)
  fund.provings.finish(claim)
  const { lease, unitMs } = proving
  fund.count(lease, 'completed', at, { unitMs, traps: claim.traps })
}
