/** What one check found. */
export interface Finding {
  readonly name: string
  /** `warn`: it works, and should not stay so. */
  readonly status: 'ok' | 'warn' | 'fail'
  /** What is so, in a sentence. */
  readonly text: string
  /** What to do about it; null where nothing is to be done. */
  readonly advice: string | null
}

export function ok(name: string, text: string): Finding {
  return { name, status: 'ok', text, advice: null }
}

export function warn(name: string, text: string, advice: string): Finding {
  return { name, status: 'warn', text, advice }
}

export function fail(name: string, text: string, advice: string): Finding {
  return { name, status: 'fail', text, advice }
}
