import type { Caller, KindName, Market } from '@fairlead/core'
import { compareText, PAUSABLE_KINDS } from '@fairlead/core/internal'

/** The ready jobs of one kind and name. */
export interface QueueFigures {
  readonly kind: KindName
  /** The model of ai jobs or the name of tasks; null for quantum jobs. */
  readonly name: string | null
  readonly ready: number
  /** The ready jobs that a pause holds back. */
  readonly held: number
}

/** How many rows a list has at most. */
const ROWS_MAX = 1_000

/** In order of kind and name; of one caller, or of all. */
export function queueFigures({ queues, pauses }: Market, caller: Caller | null): QueueFigures[] {
  const rows: QueueFigures[] = []
  for (const kind of PAUSABLE_KINDS) {
    const counts = new Map<string | null, { ready: number; held: number }>()
    for (const { shape, jobs } of queues.get(kind)?.readyGroups() ?? []) {
      if (caller !== null && shape.caller !== caller) continue
      const count = counts.get(shape.model) ?? { ready: 0, held: 0 }
      count.ready += jobs
      if (pauses.holding(shape) !== null) count.held += jobs
      counts.set(shape.model, count)
    }
    const names = [...counts].sort(([a], [b]) => compareText(a ?? '', b ?? ''))
    for (const [name, count] of names) rows.push({ kind, name, ...count })
  }
  return rows.slice(0, ROWS_MAX)
}
