import type { Job as Lease } from '@fairlead/client'

/** A job in the hands of its handler. */
export interface RunningJob {
  readonly id: string
  readonly name: string
  /** 0 is the first. One that was given back counts as well. */
  readonly attempt: number
  /** Fires when the work is wanted no more: the job was cancelled, its time is over, or this process lost it. */
  readonly signal: AbortSignal
  /** Says how far the work has come, in percent from 0 to 100; more is 100. */
  progress(percent: number, message?: string): void
  /** Adds a line to the log of this attempt. A value that is no text is shown as `console.log` would. */
  log(line: unknown): void
  /**
   * Makes sure that the job is still this handler's, before a step that must not happen twice; throws if not. It need not
   * be called to keep the job: that happens by itself for as long as the handler runs.
   */
  extend(): Promise<void>
}

export function runningJob(lease: Lease<'task'>): RunningJob {
  return {
    id: lease.jobId,
    name: lease.payload.name,
    attempt: lease.attempt,
    // Asked for lazily: most handlers need none.
    get signal() {
      return lease.signal
    },
    progress: (percent, message) => lease.progress(percent, message),
    log: (line) => lease.log(line),
    extend: () => lease.confirm(),
  }
}
