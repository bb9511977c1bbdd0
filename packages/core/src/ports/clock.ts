/** Where the engine gets the time from, and how it is woken. A test clock drives the same code. */
export interface Clock {
  now(): number
  /** Calls once at or after the time; the function that is returned takes it back. */
  wakeAt(atMs: number, wake: () => void): () => void
  /** For a clock of the real world, which goes on while the process may not. */
  watch?(): StandstillWatch
}

/** Notices when the process has stood still: it was stopped, starved, or busy with one thing only. */
export interface StandstillWatch {
  /** Whether it has since the last call. */
  hasHappened(): boolean
  end(): void
}
