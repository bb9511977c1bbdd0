import type { Caller, KindName, Market } from '@fairlead/core'
import { compareText, PAUSABLE_KINDS, type WaitingQueue } from '@fairlead/core/internal'

/** The waiting and running jobs of one kind and name. */
export interface QueueFigures {
  readonly kind: KindName
  /** The model of ai jobs or the name of tasks; null for quantum jobs. */
  readonly name: string | null
  readonly ready: number
  /** The ready jobs that a pause holds back. */
  readonly held: number
  /** All that wait, also before their time. Of a single caller only the ready ones are known. */
  readonly waiting: number
  /** Live leases. */
  readonly running: number
  /** The earliest ready time of the jobs that go first; null if none is ready. */
  readonly oldestAt: number | null
}

/** How many rows a list has at most. */
const ROWS_MAX = 1_000
/** Groups of ready jobs that are asked for the job that goes first. */
const GROUPS_MAX = 20_000

/** In order of kind and name; of one caller, or of all. */
export function queueFigures(market: Market, caller: Caller | null): QueueFigures[] {
  const rows: QueueFigures[] = []
  const running = runningByName(market, caller)
  for (const kind of PAUSABLE_KINDS) {
    const names = new Names()
    const queue = market.queues.get(kind)
    if (queue !== undefined && caller === null) countAll(market, kind, queue, names)
    else if (queue !== undefined) countOwn(market, queue, caller, names)
    for (const [name, leases] of running.get(kind) ?? []) names.of(name).running = leases
    rows.push(...names.rows().map((row) => ({ kind, ...row })))
  }
  return rows.slice(0, ROWS_MAX)
}

interface Counts {
  ready: number
  held: number
  waiting: number
  running: number
  oldestAt: number | null
}

class Names {
  readonly #counts = new Map<string | null, Counts>()

  of(name: string | null): Counts {
    let count = this.#counts.get(name)
    if (count === undefined) {
      count = { ready: 0, held: 0, waiting: 0, running: 0, oldestAt: null }
      this.#counts.set(name, count)
    }
    return count
  }

  rows(): Omit<QueueFigures, 'kind'>[] {
    const sorted = [...this.#counts].sort(([a], [b]) => compareText(a ?? '', b ?? ''))
    return sorted.map(([name, count]) => ({ name, ...count }))
  }
}

/** By the counters that the queue keeps, so that a million jobs cost nothing. */
function countAll({ pauses }: Market, kind: KindName, queue: WaitingQueue, names: Names): void {
  const isWhole = (name: string | null) =>
    pauses.isPaused({ kind, name: null, caller: null }) ||
    (name !== null && pauses.isPaused({ kind, name, caller: null }))
  for (const { name, waiting, ready } of queue.named()) {
    if (waiting > 0) {
      Object.assign(names.of(name), { waiting, ready, held: isWhole(name) ? ready : 0 })
    }
  }
  // What is paused for a caller is added up from its groups.
  for (const caller of pausedCallers(pauses, kind)) {
    for (const { shape, jobs } of queue.readyGroups(caller)) {
      if (!isWhole(shape.model) && pauses.holding(shape) !== null) {
        names.of(shape.model).held += jobs
      }
    }
  }
  let looked = 0
  for (const { shape, first } of queue.readyGroups()) {
    if (++looked > GROUPS_MAX) break
    const count = names.of(shape.model)
    count.oldestAt = Math.min(first.readyTs, count.oldestAt ?? first.readyTs)
  }
}

function countOwn({ pauses }: Market, queue: WaitingQueue, caller: Caller | null, names: Names) {
  for (const { shape, jobs, first } of queue.readyGroups(caller)) {
    const count = names.of(shape.model)
    count.ready += jobs
    count.waiting += jobs
    if (pauses.holding(shape) !== null) count.held += jobs
    count.oldestAt = Math.min(first.readyTs, count.oldestAt ?? first.readyTs)
  }
}

function pausedCallers(pauses: Market['pauses'], kind: KindName): Set<Caller> {
  if (pauses.isEmpty) return new Set()
  const own = pauses.list().filter((pause) => pause.kind === kind)
  return new Set(own.flatMap(({ caller }) => caller ?? []))
}

function runningByName(
  { leasesOf }: Market,
  caller: Caller | null,
): Map<KindName, Map<string | null, number>> {
  const byKind = new Map<KindName, Map<string | null, number>>()
  for (const leases of leasesOf.values()) {
    for (const { job } of leases.values()) {
      const { kind, model, caller: owner } = job.shape
      if (caller !== null && owner !== caller) continue
      let names = byKind.get(kind)
      if (names === undefined) {
        names = new Map()
        byKind.set(kind, names)
      }
      names.set(model, (names.get(model) ?? 0) + 1)
    }
  }
  return byKind
}
