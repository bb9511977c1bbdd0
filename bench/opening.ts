import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  callerOf,
  encodeCbor,
  type LeaseOffer,
  type LeaseSession,
  type ProviderId,
  type WorkerId,
} from '@fairlead/core'
import { type Engine, openEngine, SystemClock } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import type { Options, Report } from './bench.ts'
import { inTurns, medianRatio } from './in-turns.ts'
import { chosen } from './queue/chosen.ts'
import { syncAlone } from './yardsticks/sync-alone.ts'

export const name = 'opening'
export const question =
  'When 10,000 registrations open at one instant, how late is each first attempt, and is it in order?'

const ORGS = 20
const SESSIONS_PER_ORG = 5
const JOBS = 10_000
const PLATFORM = 'bench'
const WARM_UP_PLATFORM = 'warm-up'
const SPACING_MS = 50
/** Between the last registration and the opening. */
const LEAD_MS = 2_000
/** Registrations of an earlier opening, which is not looked at: code is compiled, caches are filled. */
const WARM_UP_JOBS = 3_000
const WARM_UP_LEAD_MS = 1_000
/** Openings with generous budgets, in turns with the yardstick. */
const OPENINGS = 3
const SYNC_EVERY_MS = 20
/** How long the default budgets are looked at. */
const SECONDS = 20
const DEFAULT_BURST = 4
const DEFAULT_RPS = 2
/** Workers are not what is measured. */
const SLOTS = 20_000
const OUTPUT = encodeCbor({ outcome: 'booked', booking_number: 'B-1' })

/** Never the bottleneck: only the send times hold anybody back. */
const GENEROUS = {
  max_concurrency: 10_000,
  burst: 10_000,
  max_rps: 10_000,
  min_spacing_ms: SPACING_MS,
}

export async function run(report: Report, options: Options): Promise<void> {
  for (const one of chosen(options.only, ['generous', 'default'] as const, 'case')) {
    await CASES[one](report, options)
  }
}

const CASES = {
  async generous(report: Report, options: Options): Promise<void> {
    const jobs = options.jobs ?? JOBS
    const lastMs = SPACING_MS * Math.ceil(jobs / (ORGS * SESSIONS_PER_ORG))
    const what = `${jobs.toLocaleString('en')} jobs, ${ORGS * SESSIONS_PER_ORG} sessions`
    const { alone, openings } = await inTurns(report, {
      what,
      measures: {
        alone: () =>
          syncAlone({ times: Math.ceil(lastMs / SYNC_EVERY_MS), everyMs: SYNC_EVERY_MS }),
        openings: async () => {
          const opening = await Opening.prepare(report, { jobs, row: GENEROUS })
          return opening.watch(lastMs + 30_000, jobs)
        },
      },
      repeats: options.repeats ?? OPENINGS,
      warmUps: 0,
    })
    const issued = openings.map((seen) => seen.map(({ tStart, dueAt }) => tStart - dueAt))
    const pushed = openings.map((seen) => seen.map(({ at, dueAt }) => at - dueAt))
    const late = alone.map(({ lateMs }) => [...lateMs])
    show(report, 'fairlead', `${what}, send_at to lease`, issued)
    show(report, 'fairlead', `${what}, send_at to its worker, durable`, pushed)
    show(report, 'yardstick', 'a timer, a write and its sync', late)
    const made = Math.min(...openings.map((seen) => seen.length))
    report.bar({ bar: 'first attempts made', reached: made, atLeast: jobs })
    const [own, least] = [issued, late].map((runs) => runs.map((values) => at(values, 0.99)))
    report.bar({
      bar: 'p99 from send_at to lease, to a timer and a sync',
      reached: medianRatio(own ?? [], least ?? []),
      atMost: 2.5,
    })
    const wrong = Math.max(...openings.map(inversions))
    report.bar({ bar: 'inversions within a session', reached: wrong, atMost: 0 })
  },

  async default(report: Report, options: Options): Promise<void> {
    const jobs = options.jobs ?? JOBS
    const spanMs = 1_000 * (options.seconds ?? SECONDS)
    const opening = await Opening.prepare(report, { jobs, row: {} })
    const seen = await opening.watch(spanMs, jobs)
    const within = seen.filter(({ tStart }) => tStart <= opening.opensAt + spanMs)
    const tokens = ORGS * (DEFAULT_BURST + (DEFAULT_RPS * spanMs) / 1_000)
    const used = (100 * within.length) / tokens
    report.measured({
      case: `default budgets, ${spanMs / 1_000} s, ${ORGS} organisations`,
      subject: 'fairlead',
      unit: '% of tokens',
      values: [used],
    })
    report.bar({ bar: 'per cent of the tokens used', reached: used, atLeast: 97 })
    report.bar({ bar: 'per cent of the tokens used', reached: used, atMost: 100 })
    report.bar({ bar: 'inversions within a session', reached: inversions(within), atMost: 0 })
  },
}

/** A first attempt, as its worker saw it. */
interface Seen {
  readonly session: string
  readonly rank: number
  readonly tStart: number
  readonly at: number
  readonly dueAt: number
}

/** An engine on a file, full of registrations, and a worker that books at once. */
class Opening {
  readonly opensAt: number
  readonly #engine: Engine
  readonly #folder: string
  readonly #clock = new SystemClock()
  readonly #seen: Seen[] = []
  #warmedUp = 0
  /** By job. */
  readonly #sessionOf: ReadonlyMap<string, string>
  #session: LeaseSession | null = null
  #wake: () => void = () => {}

  private constructor(given: {
    readonly engine: Engine
    readonly folder: string
    readonly opensAt: number
    readonly sessionOf: ReadonlyMap<string, string>
  }) {
    this.#engine = given.engine
    this.#folder = given.folder
    this.opensAt = given.opensAt
    this.#sessionOf = given.sessionOf
  }

  static async prepare(
    report: Report,
    { jobs, row }: { readonly jobs: number; readonly row: object },
  ): Promise<Opening> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-opening-'))
    const store = await openSqliteStore(join(folder, 'fairlead.db'))
    const policy = {
      queue: { quotas: { leases_max_per_provider: SLOTS } },
      sessions: { platforms: { [PLATFORM]: row, [WARM_UP_PLATFORM]: GENEROUS } },
    }
    const engine = await openEngine({ store, policy })
    // The opening is set when all are in: an operator may.
    const opensAt = Date.now() + 10_000 + jobs
    const sessionOf = new Map<string, string>()
    report.progress(`${jobs} registrations come in`)
    for (let from = 0; from < jobs; from += 500) {
      const batch = Array.from({ length: Math.min(500, jobs - from) }, (_, i) => from + i)
      const ids = await engine.enqueueMany(
        batch.map((n) => request(n, opensAt, PLATFORM)),
        {
          caller: callerOf('bench'),
        },
      )
      for (const [i, id] of ids.entries()) {
        if (id.status === 'rejected') throw id.reason
        sessionOf.set(id.value, sessionName(from + i))
      }
    }
    return new Opening({ engine, folder, opensAt, sessionOf })
  }

  /** First attempts until all are there, or the time after the opening is over. */
  async watch(spanMs: number, jobs: number): Promise<readonly Seen[]> {
    const lateMs = this.#clock.now() + LEAD_MS - this.opensAt
    if (lateMs > 0) throw new Error(`the opening came ${lateMs} ms too early; take fewer jobs`)
    this.#session = await this.#engine.leaseSource().open(
      {
        providerId: 'provider:bench' as ProviderId,
        workerId: 'w-1' as WorkerId,
        slots: SLOTS,
        holds: [],
        offer: { kinds: ['registration'], models: [], platforms: ['*'] },
      },
      {
        offer: (offer) => void this.#book(offer, jobs),
        held: () => {},
        lost: () => {},
        closed: () => {},
      },
    )
    await this.#warmUp()
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      setTimeout(resolve, this.opensAt + spanMs - this.#clock.now())
    })
    await this.#engine.close()
    rmSync(this.#folder, { recursive: true })
    return this.#seen
  }

  async #warmUp(): Promise<void> {
    const booked = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    const at = this.#clock.now() + WARM_UP_LEAD_MS
    const requests = Array.from({ length: WARM_UP_JOBS }, (_, n) =>
      request(n, at, WARM_UP_PLATFORM),
    )
    await this.#engine.enqueueMany(requests, { caller: callerOf('warm-up') })
    await booked
  }

  async #book(
    { leaseId, jobId, attempt, rank = 0, tStart }: LeaseOffer,
    jobs: number,
  ): Promise<void> {
    const dueAt = this.opensAt + rank * SPACING_MS
    const session = this.#sessionOf.get(jobId)
    if (session !== undefined && attempt === 0) {
      this.#seen.push({ session, rank, tStart, at: this.#clock.now(), dueAt })
    }
    try {
      await this.#session?.ack(leaseId)
      await this.#session?.complete(leaseId, { output: OUTPUT })
    } catch {
      // The engine closes when the time is over, whoever is at work.
    }
    const isOver =
      session === undefined ? ++this.#warmedUp === WARM_UP_JOBS : this.#seen.length === jobs
    if (isOver) this.#wake()
  }
}

function request(n: number, opensAt: number, platform: string): Record<string, unknown> {
  const session = n % (ORGS * SESSIONS_PER_ORG)
  return {
    kind: 'registration',
    payload: {
      provider: platform,
      org_ref: `org-${session % ORGS}`,
      event_id: `event-${Math.floor(session / ORGS)}`,
      user_id: `user-${n}`,
      args: { n },
      scheduled_time: opensAt,
    },
  }
}

function sessionName(n: number): string {
  return String(n % (ORGS * SESSIONS_PER_ORG))
}

/** First attempts that came before one of a lower rank in their session. */
function inversions(seen: readonly Seen[]): number {
  const highest = new Map<string, number>()
  let count = 0
  for (const { session, rank } of seen) {
    if (rank < (highest.get(session) ?? -1)) count++
    highest.set(session, Math.max(rank, highest.get(session) ?? -1))
  }
  return count
}

function show(
  report: Report,
  subject: string,
  what: string,
  runs: readonly (readonly number[])[],
): void {
  for (const [label, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
    ['worst', 1],
  ] as const) {
    const values = runs.map((run) => at(run, share))
    report.measured({ case: `${what}, ${label}`, subject, unit: 'ms', values })
  }
}

/** By nearest rank. */
function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
