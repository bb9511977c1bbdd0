const ENDS: readonly string[] = ['COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED']

/** Whether a job with this status can still become anything else. */
export function hasEnded(status: string): boolean {
  return ENDS.includes(status)
}
