import type { Worker } from './worker.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** The workers of this process that want to be drained, each with its grace. */
const draining = new Map<Worker, number>()

/**
 * Stops a worker when the process is told to end. When all have stopped the signal is raised again, so
 * that the process ends as it would have ended; unless somebody else listens to it, whose affair it is
 * then.
 */
export function drainOnSignals(worker: Worker, graceMs: number): void {
  if (draining.size === 0) for (const signal of SIGNALS) process.on(signal, drainAll)
  draining.set(worker, graceMs)
  const forget = (): void => {
    draining.delete(worker)
    if (draining.size === 0) for (const signal of SIGNALS) process.removeListener(signal, drainAll)
  }
  worker.closed.then(forget, forget)
}

function drainAll(signal: NodeJS.Signals): void {
  const stopping = [...draining].map(([worker, graceMs]) => worker.stop({ graceMs }))
  void Promise.allSettled(stopping).then(() => {
    // A worker may have been started meanwhile; then the process is not to end yet.
    if (draining.size === 0 && process.listenerCount(signal) === 0)
      process.kill(process.pid, signal)
  })
}
