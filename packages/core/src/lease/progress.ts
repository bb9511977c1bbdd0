/** How far an attempt has come, as its worker said last (PROGRESS-1). */
export interface Progress {
  readonly attempt: number
  /** 0 to 100; null if it was not said. */
  readonly percent: number | null
  readonly message: string | null
  readonly at: number
}
