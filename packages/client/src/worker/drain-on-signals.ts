const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** A worker, or something that has workers. */
interface Drained {
  stop(options: { readonly graceMs: number }): Promise<void>
  /** Resolves when it has stopped. */
  readonly closed: Promise<void>
}

/** The workers of this process that want to be drained, each with its grace. */
const draining = new Map<Drained, number>()

/**
 * Stops a worker when the process is told to end. When all have stopped the signal is raised again, so
 * that the process ends as it would have ended; unless somebody else listens to it, whose affair it is
 * then.
 */
export function drainOnSignals(worker: Drained, graceMs: number): void {
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
