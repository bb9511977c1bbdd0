/** Where the engine gets the time from, and how it is woken. A test clock drives the same code. */
export interface Clock {
  now(): number
  /** Calls once at or after the time; the function that is returned takes it back. */
  wakeAt(atMs: number, wake: () => void): () => void
}
