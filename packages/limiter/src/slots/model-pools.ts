import type { Clock, JobEstimate, ModelLimits, Usage } from '@fairlead/core/limits'
import type { PoolView } from './pool-view.ts'

/** What is started on models, by this instance alone or by all of them together. */
export interface ModelPools {
  /** The time that windows go by, and timers by that time. */
  readonly clock: Clock
  view(model: string): PoolView
  /** What this instance has used in the current windows, and what it has in flight. */
  own(model: string): { readonly used: Usage; readonly inFlight: number }
  /** Resolves once the view knows of an allocation; rejects if that cannot be had now. */
  join(model: string): Promise<void>
  /**
   * Starts up to `count` jobs, each if its whole estimate fits (SLOT-5), and gives a reference to each that is started.
   * Rejects if nobody can tell now; then none is.
   */
  acquire(model: string, estimate: JobEstimate, count: number): Promise<readonly string[]>
  /** Ends a job with what it has used, null if that is not known; gives what it used beyond its estimate. */
  release(model: string, ref: string, actual: JobEstimate | null): JobEstimate
  /** Leaves; to be called when nothing is in flight. */
  close(): Promise<void>
}

export interface PoolsOptions {
  readonly limits: ReadonlyMap<string, ModelLimits>
  readonly view: (model: string) => PoolView
  readonly clock: Clock
  /** There may be room where there was none. */
  readonly onChange: (model: string) => void
}

/** Where the pools are kept: `memory()` or `redis(url)`. */
export interface PoolBackend {
  openPools(options: PoolsOptions): ModelPools
}
