import type { KindName } from '@fairlead/core'
import type { Worker } from '../actors/worker.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { broken } from '../violation.ts'
import type { Session } from '../world/session.ts'
import type { SimClock } from '../world/sim-clock.ts'

/** A firing whose look-up fails is tried again after a second. */
const FIRED_WITHIN_MS = 10_000

interface Parts {
  readonly clock: SimClock
  readonly ledger: Ledger
  readonly workers: readonly Worker[]
}

/** What must hold of an engine that has nothing left to do. */
export class RestChecks {
  readonly #parts: Parts
  /** A ready job that waits beside a provider that fits it, since when. */
  #stranded: {
    readonly jobId: string
    readonly attempt: number | null
    readonly since: number
  } | null = null

  /** A time of a schedule that has come and not fired, since when. */
  #overdue: { readonly what: string; readonly since: number } | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  check(session: Session): void {
    this.#checkMemory(session)
    this.#checkOffers(session)
    this.#checkStranded()
    this.#checkSchedules(session)
  }

  /** What waited is judged anew: the clock went back, or somebody changed the rules. */
  forgetWaits(): void {
    this.#stranded = null
  }

  #checkMemory({ engine }: Session): void {
    const { book } = this.#parts.ledger
    const { waiting, leases } = engine.stats()
    const due = new Map<KindName, number>()
    for (const { status, facts } of book.alive) {
      if (status === 'QUEUED') due.set(facts.kind, (due.get(facts.kind) ?? 0) + 1)
    }
    for (const [kind, count] of Object.entries(waiting)) {
      const stored = due.get(kind as KindName) ?? 0
      if (count !== stored)
        broken('memory', `${count} ${kind} jobs wait in memory, ${stored} in the log`)
    }
    book.paused.compare(engine.view.pauses())
    const live = book.live.size
    if (leases !== live) broken('memory', `${leases} leases are live in memory, ${live} in the log`)
  }

  /** Whoever is connected knows of all that it holds. */
  #checkOffers({ store }: Session): void {
    const { clock, workers, ledger } = this.#parts
    const links = new Map(workers.map(({ id, link }) => [id, link]))
    for (const { id, workerId, job } of ledger.book.live) {
      if (store.isOwed(job.facts.seq, clock.now())) continue
      const link = workerId === null ? null : (links.get(workerId) ?? null)
      if (link !== null && !link.told.has(id))
        broken('offers', `${workerId} was not told of its lease ${id}`)
    }
  }

  /** A time that has come has fired, or was left out. Tables that take nothing hold firings back. */
  #checkSchedules({ store }: Session): void {
    const { clock, ledger } = this.#parts
    const now = clock.now()
    if (now < clock.latest || store.isBehind) return
    const overdue = ledger.book.schedules.overdue(now)
    if (overdue === null || overdue !== this.#overdue?.what) {
      this.#overdue = overdue === null ? null : { what: overdue, since: now }
    } else if (now - this.#overdue.since > FIRED_WITHIN_MS) {
      broken('schedule', `${overdue}, and it is ${now}`)
    }
  }

  #checkStranded(): void {
    const { clock, ledger } = this.#parts
    const now = clock.now()
    // For an engine whose clock has gone back the time stands still.
    const found = now < clock.latest ? null : ledger.stranded(now)
    if (found === null) {
      this.#stranded = null
      return
    }
    const jobId = found.job.facts.id
    const { attempt } = found.job
    // One that was tried meanwhile waits anew.
    const isSame = this.#stranded?.jobId === jobId && this.#stranded.attempt === attempt
    if (this.#stranded === null || !isSame) this.#stranded = { jobId, attempt, since: now }
    const interval = ledger.book.policy.queue.dispatchIntervalMs
    if (now - this.#stranded.since > interval) {
      broken(
        ledger.isHeldUp(found.provider, now) ? 'fails-alone' : 'stranded',
        `job ${jobId} has waited beside ${found.provider.id} for over ${interval} ms`,
      )
    }
  }
}
