export interface CrashReport {
  readonly kills: number
  readonly seed: number
  /** The last process ended by itself, with nothing left to do. */
  readonly drained: boolean
  /** Batches that were in the log alone when a process began. */
  readonly replayed: number
  readonly jobs: number
  readonly answered: { readonly enqueues: number; readonly completions: number }
  readonly jobs_lost: number
  readonly completions_undone: number
  readonly duplicates: number
  readonly jobs_left: number
  readonly charged: number
  readonly given_back: number
  readonly moved: number
  readonly audit_broken_at: number | null
  readonly recovery_ms: { readonly median: number | null; readonly worst: number | null }
}

export function runCrashes(options: {
  readonly kills: number
  readonly seed: number
  readonly onKill?: (progress: Readonly<Record<string, number>>) => void
}): Promise<CrashReport>

export function isSound(report: CrashReport): boolean
