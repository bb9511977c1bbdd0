import type { Worker } from './worker.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Stops a worker when the process is told to end. Afterwards the signal is raised again, so that the
 * process ends as it would have ended; unless somebody else listens to it, whose affair it is then.
 */
export function drainOnSignals(worker: Worker, graceMs: number): void {
  const forget = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, drain)
  }
  const drain = (signal: NodeJS.Signals): void => {
    void worker
      .stop({ graceMs })
      .catch(() => undefined)
      .then(() => {
        forget()
        if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
      })
  }
  for (const signal of SIGNALS) process.once(signal, drain)
  worker.closed.then(forget, forget)
}
