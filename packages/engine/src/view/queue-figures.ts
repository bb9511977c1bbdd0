import type { Caller, KindName, Market } from '@fairlead/core'
import { compareText, PAUSABLE_KINDS } from '@fairlead/core/internal'

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

/** In order of kind and name; of one caller, or of all. */
export function queueFigures(market: Market, caller: Caller | null): QueueFigures[] {
  const { queues, pauses } = market
  const rows: QueueFigures[] = []
  const running = runningByName(market, caller)
  for (const kind of PAUSABLE_KINDS) {
    const queue = queues.get(kind)
    const counts = new Map<string | null, Counts>()
    const countOf = (name: string | null): Counts => {
      let count = counts.get(name)
      if (count === undefined) {
        count = { ready: 0, held: 0, waiting: 0, running: 0, oldestAt: null }
        counts.set(name, count)
      }
      return count
    }
    for (const { shape, jobs, first } of queue?.readyGroups(caller) ?? []) {
      const count = countOf(shape.model)
      count.ready += jobs
      if (pauses.holding(shape) !== null) count.held += jobs
      count.oldestAt = Math.min(first.readyTs, count.oldestAt ?? first.readyTs)
    }
    for (const [name, waiting] of caller === null ? (queue?.named ?? []) : []) {
      if (waiting > 0) countOf(name).waiting = waiting
    }
    for (const [name, leases] of running.get(kind) ?? []) countOf(name).running = leases
    const names = [...counts].sort(([a], [b]) => compareText(a ?? '', b ?? ''))
    for (const [name, count] of names) {
      rows.push({ kind, name, ...count, waiting: Math.max(count.waiting, count.ready) })
    }
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
