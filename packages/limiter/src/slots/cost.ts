/** Prices per million tokens. */
export interface Pricing {
  readonly input?: number
  readonly cached?: number
  readonly output?: number
}

/** What a job has used. Tokens that came from a cache are counted apart from the other input. */
export interface JobUsage {
  readonly inputTokens?: number
  readonly cachedTokens?: number
  readonly outputTokens?: number
  /** 1 unless given. */
  readonly requests?: number
}

export function costOf(usage: JobUsage, { input = 0, cached = 0, output = 0 }: Pricing): number {
  const { inputTokens = 0, cachedTokens = 0, outputTokens = 0 } = usage
  return (inputTokens * input + cachedTokens * cached + outputTokens * output) / 1_000_000
}

export function tokensOf({
  inputTokens = 0,
  cachedTokens = 0,
  outputTokens = 0,
}: JobUsage): number {
  return inputTokens + cachedTokens + outputTokens
}
