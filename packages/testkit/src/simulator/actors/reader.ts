import type { AuditEntry, JobId } from '@fairlead/core'
import type { Engine, Explanation } from '@fairlead/engine'
import type { JobHistory, JobSight } from '../checks/job-history.ts'
import type { Truth } from '../checks/truth.ts'
import type { Dice } from '../dice.ts'
import { broken } from '../violation.ts'
import type { Desk } from './desk.ts'

/** Asks what has become of jobs. An answer tells of all that was answered before the question. */
export class Reader {
  readonly #dice: Dice
  readonly #desk: Desk
  readonly #truth: Truth
  readonly #history: JobHistory

  constructor(parts: {
    readonly dice: Dice
    readonly desk: Desk
    readonly truth: Truth
    readonly history: JobHistory
  }) {
    this.#dice = parts.dice
    this.#desk = parts.desk
    this.#truth = parts.truth
    this.#history = parts.history
  }

  /** Asks for all that there is of one job. The engine had told of everything up to the batch `answered`. */
  read(answered: number): string {
    const ids = this.#desk.receipts()
    if (ids.length === 0) return 'has nothing to read'
    // Of the newest most is still under way.
    const id = this.#dice.pick(this.#dice.oneIn(2) ? ids.slice(-8) : ids)
    this.#ask((engine) => engine.getJob(id), {
      check: (row) =>
        this.#checkSight(
          id,
          answered,
          ({ status, attempt, retries }) =>
            status === (row?.status ?? null) &&
            (row === null || (attempt === row.attempt && retries === row.retries)),
          `job ${id} reads as ${row?.status ?? 'deleted'}`,
        ),
    })
    this.#ask((engine) => engine.getResult(id), {
      check: (result) =>
        this.#checkSight(
          id,
          answered,
          ({ hasResult }) => hasResult === (result !== null),
          `job ${id} reads as one ${result === null ? 'without' : 'with'} a result`,
        ),
    })
    this.#ask((engine) => engine.timeline(id), {
      check: (told) => this.#checkTimeline(id, answered, told ?? []),
    })
    this.#ask((engine) => explained(engine, id), {
      check: (told) => {
        if (told !== null) this.#checkRefusals(told)
      },
    })
    return `reads ${id}`
  }

  /** What an engine does not know is null; what it cannot say now is asked again some other time. */
  #ask<Reply>(
    make: (engine: Engine) => Promise<Reply>,
    { check }: { readonly check: (reply: Reply | null) => void },
  ): void {
    this.#desk.read(make, (answer, reply) => {
      if (answer !== 'StoreUnavailable') check(reply)
    })
  }

  #checkSight(
    id: JobId,
    answered: number,
    isLike: (sight: JobSight) => boolean,
    said: string,
  ): void {
    const span = { from: answered, to: this.#truth.batch }
    if (this.#history.wasSeen(id, isLike, span)) return
    broken('answer', `${said}, which it was not from batch ${span.from} to ${span.to}`)
  }

  /** A timeline is the whole one as it was at some moment. */
  #checkTimeline(id: JobId, answered: number, told: readonly AuditEntry[]): void {
    const { disk } = this.#truth
    // Of one that is deleted nothing is left to compare with.
    if (!disk.jobs.has(id)) return
    const all = disk.timeline(id)
    const known = all.filter(({ seq }) => seq <= this.#truth.entriesAt(answered))
    const isPart = told.every(({ seq }, i) => all[i]?.seq === seq)
    if (!isPart || told.length < known.length)
      broken('answer', `the timeline of ${id} has ${told.length} entries, not ${known.length}`)
  }

  /** With health off nothing that failed before is a reason to wait (HEALTH-7). */
  #checkRefusals({ explanation, health, liveness }: Told): void {
    if (health === 'on' || !('providers' in explanation)) return
    for (const { id, refusal } of explanation.providers) {
      const isStale = refusal === 'heartbeat_stale' && liveness === 'worker'
      if (!isStale && !HEALTH_REFUSALS.has(refusal ?? '')) continue
      broken(
        'fails-alone',
        `${id} refuses ${explanation.job.id} with ${refusal}, and has no health`,
      )
    }
  }
}

/** An explanation, and the policy under which it was put together. */
interface Told {
  readonly explanation: Explanation
  readonly health: string
  readonly liveness: string
}

/** Null if the rules changed meanwhile. They are the engine's: the log may not have the newest change yet. */
async function explained(engine: Engine, id: JobId): Promise<Told | null> {
  const { policy } = engine.view
  const explanation = await engine.explain(id)
  if (engine.view.policy !== policy) return null
  const { health, liveness } = policy.registry
  return { explanation, health, liveness }
}

const HEALTH_REFUSALS: ReadonlySet<string> = new Set([
  'unhealthy',
  'cooling_down',
  'class_cooling_down',
])
