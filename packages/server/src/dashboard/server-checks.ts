import type { Check, Engine, Problem } from '@fairlead/engine'
import type { HeapGuard } from '../heap-guard.ts'
import type { ServerLimits } from '../limits.ts'
import type { LoopLag } from '../metrics/loop-lag.ts'
import type { MeteredStore } from '../metrics/metered-store.ts'

/** An append that takes longer than this is taken for one that is refused. */
export const STUCK_MS = 5_000
/** Changes on the way to the tables from which on enqueues wait. */
const BEHIND_CHANGES = 200_000

export interface CheckParts {
  readonly engine: Engine
  readonly store: MeteredStore | null
  readonly lag: LoopLag
  readonly heap: HeapGuard
  readonly limits: ServerLimits
}

/** What is wrong with the server itself, the worst first, and what is in order. */
export function checkServer(parts: CheckParts): { problems: Problem[]; inOrder: Check[] } {
  const problems: Problem[] = []
  const inOrder: Check[] = []
  for (const look of [storeCheck, heapCheck, tablesCheck, lagCheck]) {
    const found = look(parts)
    if ('advice' in found) problems.push(found)
    else inOrder.push(found)
  }
  return { problems, inOrder }
}

/** For how long nothing has been confirmed: 0 while the log takes appends. */
export function ageOf(store: MeteredStore | null, nowMs: number): number {
  const { failingSince = null, pendingSince = null } = store?.health ?? {}
  const since = failingSince ?? pendingSince
  return since === null ? 0 : Math.max(0, Math.floor(nowMs - since))
}

function storeCheck({ store }: CheckParts): Check | Problem {
  const { failingSince = null, pendingSince = null } = store?.health ?? {}
  const isStuck = pendingSince !== null && performance.now() - pendingSince > STUCK_MS
  if (failingSince === null && !isStuck) {
    return { check: 'store', text: 'The log takes writes.' }
  }
  const what = failingSince === null ? 'is stuck in a write' : 'refuses writes'
  const text = `The store ${what}, so nothing new is accepted or given out.`
  return { check: 'store', text, advice: 'Look at the log of the server and at its disk.' }
}

function heapCheck({ heap }: CheckParts): Check | Problem {
  const { live, liveMax } = heap.figures
  if (live <= liveMax) return { check: 'memory', text: 'There is memory for more jobs.' }
  const advice = 'Let jobs drain, or give the server a larger heap.'
  return { check: 'memory', text: 'The memory is full of jobs, so enqueues are refused.', advice }
}

function tablesCheck({ engine }: CheckParts): Check | Problem {
  if (engine.changesBehind <= BEHIND_CHANGES) {
    return { check: 'tables', text: 'The tables keep up with the log.' }
  }
  const text = 'The tables are too far behind the log, so enqueues wait.'
  return {
    check: 'tables',
    text,
    advice: 'Look at the disk, and end programs that read the store.',
  }
}

function lagCheck({ lag, limits }: CheckParts): Check | Problem {
  if (lag.ms <= limits.lagMs) return { check: 'load', text: 'The server answers without delay.' }
  const text = `The server was late by ${Math.round(lag.ms)} ms in the last seconds.`
  return { check: 'load', text, advice: 'Give it more of a processor, or fewer jobs a second.' }
}
