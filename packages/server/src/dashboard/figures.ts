import type { Caller, LimitView } from '@fairlead/core'
import {
  type BudgetFigures,
  bestChange,
  type Census,
  type KindFairness,
  VERDICT_VALID_MS,
  verdictOf,
  type Waiting,
} from '@fairlead/engine'
import type { BudgetRecord, ResultOf, VerdictRecord } from '@fairlead/protocol'
import type { EventMeter } from '../metrics/event-meter.ts'
import { SHARES_WINDOW_MS } from '../metrics/service-shares.ts'
import { blockerRecord, changeRecord } from '../records/blocker-record.ts'
import { budgetRecord } from '../records/budget-record.ts'
import { fairnessRecord } from '../records/fairness-record.ts'
import type { CallerNames } from './caller-names.ts'
import { Kept } from './kept.ts'
import { ageOf, type CheckParts, checkServer } from './server-checks.ts'

/** Any number of pages that look cost one look in this time. */
const KEPT_MS = 100
const BLOCKERS_SHOWN = 100

interface Looked {
  readonly at: number
  readonly waiting: Waiting
}

/** The figures behind the dashboard, for everybody or for one caller. All of them come from memory. */
export class Figures {
  readonly #parts: CheckParts
  readonly #meter: EventMeter
  readonly #names: CallerNames
  readonly #waiting = new Kept<Looked>(KEPT_MS)
  readonly #fairness = new Kept<readonly KindFairness[]>(KEPT_MS)
  readonly #budgets = new Kept<(view: LimitView) => BudgetFigures>(KEPT_MS)

  constructor(parts: CheckParts & { readonly meter: EventMeter; readonly names: CallerNames }) {
    const { meter, names, ...checked } = parts
    this.#parts = checked
    this.#meter = meter
    this.#names = names
  }

  census(nowMs: number): Census {
    return this.#parts.engine.view.census(this.#look(null, nowMs).waiting)
  }

  /** `caller`: of its own jobs only; null: of all. */
  verdict(caller: Caller | null, nowMs: number): VerdictRecord {
    const { at, waiting } = this.#look(caller, nowMs)
    const { engine, store } = this.#parts
    const { problems, inOrder } = checkServer(this.#parts)
    const running = engine.view.running(caller)
    const ageMs = Math.max(nowMs - at, ageOf(store, performance.now()))
    const all = waiting.scan.waiting
    const given = { blockers: waiting.blockers, at, ageMs, waiting: all, running, problems }
    const { status, text, cause } = verdictOf(given)
    return {
      status,
      text,
      at: nowMs - ageMs,
      age_ms: ageMs,
      valid_ms: VERDICT_VALID_MS,
      waiting: all,
      running,
      cause: cause === null ? null : blockerRecord(cause, nowMs),
      ruled_out: [...inOrder, ...waiting.ruledOut],
      problems: [...problems],
    }
  }

  waiting(
    caller: Caller | null,
    nowMs: number,
    kind: string | undefined,
  ): ResultOf<'stats.waiting'> {
    const { at, waiting } = this.#look(caller, nowMs)
    const blockers = waiting.blockers.filter((one) => kind === undefined || one.kind === kind)
    const rest = blockers.slice(BLOCKERS_SHOWN)
    const change = bestChange(blockers, at)
    return {
      at,
      waiting: kind === undefined ? waiting.scan.waiting : sumJobs(blockers),
      blockers: blockers.slice(0, BLOCKERS_SHOWN).map((one) => blockerRecord(one, nowMs)),
      rest: rest.length === 0 ? null : { blockers: rest.length, jobs: sumJobs(rest) },
      sampled: waiting.scan.sampled,
      change: change === null ? null : changeRecord(change),
    }
  }

  /** `own`: the only caller whose line is shown; null: all. */
  fairness(
    own: Caller | null,
    nowMs: number,
    {
      kind,
      limit = 100,
    }: { readonly kind?: string | undefined; readonly limit?: number | undefined },
  ): ResultOf<'stats.fairness'> {
    const kinds = this.#fairness.get('', nowMs, () => {
      const { waiting } = this.#look(null, nowMs)
      return this.#parts.engine.view.fairness(waiting, (one) => this.#meter.shares.of(one, nowMs))
    })
    const name = (caller: Caller) => this.#names.of(caller, nowMs)
    return {
      at: nowMs,
      window_ms: SHARES_WINDOW_MS,
      kinds: kinds
        .filter((one) => kind === undefined || one.kind === kind)
        .map((one) => fairnessRecord(one, { own, limit, name })),
    }
  }

  /** `isCounted`: these limits are counted in the engine. `own`: the only caller whose holds are shown. */
  budgets(
    views: readonly LimitView[],
    { own, isCounted }: { readonly own: Caller | null; readonly isCounted: boolean },
    nowMs: number,
  ): BudgetRecord[] {
    const figuresOf = this.#budgets.get('', nowMs, () => this.#parts.engine.view.budgets())
    const waits = new Map<string, number>()
    for (const { hold, jobs } of this.#look(own, nowMs).waiting.blockers) {
      if (hold.limit === null) continue
      waits.set(hold.limit.key, (waits.get(hold.limit.key) ?? 0) + jobs)
    }
    return views.map((view) => {
      const figures = isCounted ? figuresOf(view) : null
      const holders = (figures?.holders ?? [])
        .filter(({ caller }) => own === null || caller === own)
        .map(({ leaseId, jobId, caller, amount, reservedAt, endsAt }) => ({
          lease_id: leaseId,
          task_id: jobId,
          caller,
          name: caller === null ? null : this.#names.of(caller, nowMs),
          amount,
          reserved_at: reservedAt,
          ends_at: endsAt,
        }))
      const waiting = waits.get(view.limit.key) ?? 0
      return budgetRecord(view, figures, { at: nowMs, waiting, holders })
    })
  }

  #look(caller: Caller | null, nowMs: number): Looked {
    return this.#waiting.get(caller ?? '', nowMs, () => ({
      at: nowMs,
      waiting: this.#parts.engine.view.waiting(caller, nowMs),
    }))
  }
}

function sumJobs(blockers: readonly { readonly jobs: number }[]): number {
  return blockers.reduce((sum, { jobs }) => sum + jobs, 0)
}
