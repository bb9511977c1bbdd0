import {
  buildProof,
  type LeaseId,
  NO_ATTESTATION,
  type ProviderId,
  publicKeyOf,
  taggedHash,
  taggedHashHex,
  toHex,
} from '@fairlead/core'
import type { Dice } from '../dice.ts'
import type { JobEntry } from '../ledger/book.ts'
import type { Proving } from '../ledger/fund/proving.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { hasEndedStatus } from '../ledger/rules/own-rules.ts'
import { broken } from '../violation.ts'
import type { ChainActor } from './chain-actor.ts'
import type { Answer, Desk } from './desk.ts'

/** Keys that a provider may have had, one after the other. */
const KEYS = 4
const SENT_KEPT = 8

export function secretOf(providerId: ProviderId, version: number): Uint8Array {
  return taggedHash('simulated key', providerId, version)
}

export function publicKeyIn(providerId: ProviderId, version: number): string {
  return toHex(publicKeyOf(secretOf(providerId, version)))
}

/** What a prover makes of its work. */
type Manner =
  | 'well'
  | 'digest'
  | 'units'
  | 'key'
  | 'traps'
  | 'chain'
  | 'lease'
  | 'rubbish'
  | 'again'

/** Proves what was completed: well, with lies, again, for others, or never. */
export class Prover {
  readonly #dice: Dice
  readonly #desk: Desk
  readonly #ledger: Ledger
  /** Null where proofs are sent to the engine. */
  readonly #chain: ChainActor | null
  #sent: Uint8Array[] = []

  constructor(parts: {
    readonly dice: Dice
    readonly desk: Desk
    readonly ledger: Ledger
    readonly chain: ChainActor | null
  }) {
    this.#dice = parts.dice
    this.#desk = parts.desk
    this.#ledger = parts.ledger
    this.#chain = parts.chain
  }

  act(): string {
    const dice = this.#dice
    const waiting = this.#waiting().filter((job) => !neverProves(job))
    const [job] = waiting.length === 0 ? [] : [dice.pick(waiting)]
    const manner = dice.weighted<Manner>(
      job === undefined
        ? { ...NO_WORK }
        : { ...MANNERS, traps: job.facts.kind === 'quantum' ? 14 : 0 },
    )
    const envelope = this.#make(manner, job)
    const own = job?.proving?.lease.provider.id ?? null
    const other = dice.pick([...this.#ledger.book.providers.keys()])
    const by = dice.oneIn(10) ? other : dice.oneIn(4) ? null : own
    return `${manner} ${job?.facts.id.slice(0, 10) ?? ''}: ${this.#send(envelope, by)}`
  }

  /** Everything is proved as it should be. */
  proveAll(): void {
    for (const job of this.#waiting()) this.#send(this.#make('well', job), null)
  }

  #waiting(): JobEntry[] {
    const { fund } = this.#ledger.book
    return [...(fund?.provings.all ?? [])].filter(({ proving }) => proving?.claim === null)
  }

  #send(envelope: Uint8Array, by: ProviderId | null): string {
    this.#sent = [...this.#sent.slice(1 - SENT_KEPT), envelope]
    if (this.#chain !== null && !this.#dice.oneIn(12)) {
      this.#chain.take(envelope)
      return 'to the chain'
    }
    const { book } = this.#ledger
    const { fund, policy } = book
    if (fund === null) return 'nowhere'
    const before = fund.provings.verdict(envelope, by)
    const jobId = before.job?.facts.id ?? null
    const changes = jobId === null ? 0 : fund.provings.changes.get(jobId)
    this.#desk.sendInSteps(
      (engine) => engine.fund.submitProof(envelope, by),
      (answer) => {
        const after = fund.provings.verdict(envelope, by)
        const isSame =
          jobId === null || (fund.provings.changes.get(jobId) === changes && book.policy === policy)
        if (answer === 'ok') return this.#checkTaken(before.job)
        const said: readonly (string | null)[] = [before.code, after.code]
        if (answer === 'StoreUnavailable' || said.includes(answer)) return
        // With a chain nothing is looked at.
        if (answer === 'InvalidState' && this.#chain !== null) return
        if (!isSame || isOver(before.job, answer)) return
        broken('proof', `a proof of ${jobId} was refused with ${answer}, due was ${before.code}`)
      },
    )
    return `sent by ${by ?? 'the operator'}`
  }

  #checkTaken(job: JobEntry | null): void {
    if (this.#chain !== null) broken('proof', 'a proof was taken beside the chain')
    // A job that is FINAL may be deleted by the time that this is heard.
    if (job === null || job.status === 'COMPLETED') return
    broken('durable', `the proof of ${job.facts.id} was taken, and the job is ${job.status}`)
  }

  #make(manner: Manner, job: JobEntry | undefined): Uint8Array {
    const dice = this.#dice
    const proving = job?.proving ?? null
    if (manner === 'again' && this.#sent.length > 0) return dice.pick(this.#sent)
    if (manner === 'rubbish' || job === undefined || proving === null) return dice.bytes(20)
    return this.#prove(manner, job, proving)
  }

  #prove(manner: Manner, job: JobEntry, { lease }: Proving): Uint8Array {
    const dice = this.#dice
    const { facts } = job
    const providerId = lease.provider.id
    const isQuantum = facts.kind === 'quantum'
    const most = 1_000_000 * facts.units
    const passed = manner === 'traps' ? dice.between(0, 97) : dice.between(98, 100)
    const { envelope } = buildProof({
      typeId: isQuantum ? 3 : 2,
      secretKey: this.#secretOf(manner === 'key' ? null : lease.provider.row.publicKey, providerId),
      body: {
        chainId: manner === 'chain' ? 7n : 1n,
        taskId: facts.id,
        providerId,
        leaseId: manner === 'lease' ? (taggedHashHex('no lease', facts.id) as LeaseId) : lease.id,
        outputDigest: manner === 'digest' ? taggedHashHex('other') : (lease.digest ?? ''),
        unitsPpm: BigInt(manner === 'units' ? 2 * most : Math.floor(most / dice.between(1, 3))),
        qos: { p95LatencyMs: 5n, availabilityPpm: 1_000_000n },
        attestationHash: NO_ATTESTATION,
        traps: isQuantum ? { shots: 100n, passed: BigInt(passed) } : null,
      },
    })
    return envelope
  }

  /** The secret of the key that is known of the provider; another one where none is. */
  #secretOf(publicKey: string | null, providerId: ProviderId): Uint8Array {
    for (let version = 0; version < KEYS; version++) {
      if (publicKeyIn(providerId, version) === publicKey) return secretOf(providerId, version)
    }
    return secretOf(providerId, KEYS)
  }
}

/** How often each, in a hundred or so. */
const MANNERS: Readonly<Record<Manner, number>> = {
  ...{ well: 66, digest: 3, units: 3, key: 3, traps: 0 },
  ...{ chain: 2, lease: 2, rubbish: 1, again: 8 },
}
const NO_WORK: Readonly<Record<Manner, number>> = {
  ...{ well: 0, digest: 0, units: 0, key: 0, traps: 0 },
  ...{ chain: 0, lease: 0, rubbish: 1, again: 8 },
}

/** One job in so many is never proved. */
function neverProves({ facts }: JobEntry): boolean {
  return Number.parseInt(facts.id.slice(2, 6), 16) % 9 === 0
}

/** Of a job that has ended the engine knows what its tables know. */
function isOver(job: JobEntry | null, answer: Answer): boolean {
  const isKnown = answer === 'NullifierReused' || answer === 'InvalidState' || answer === 'NotFound'
  return isKnown && (job === null || hasEndedStatus(job.status))
}
