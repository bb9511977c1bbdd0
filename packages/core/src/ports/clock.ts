/** The engine's source of time and wake-ups. A test clock drives the same code. */
export interface Clock {
  now(): number
  /** Calls `wake` once, at or after the time. The returned function cancels it. */
  wakeAt(atMs: number, wake: () => void): () => void
  /** For a real clock, which goes on even if the process does not. */
  watch?(): StandstillWatch
}

/** Detects a standstill of the process: it was stopped, starved, or busy with one thing only. */
export interface StandstillWatch {
  /** True if the process has stood still since the last call. */
  hasHappened(): boolean
  end(): void
}
