import type { Limit, Requirement } from '@fairlead/limiter'

/** Limits of a model that are never reached: what is measured is the way to a decision. */
export const LIMITS: readonly Limit[] = [
  { key: 'global:llm:bench:model:rpm', kind: 'rolling', capacity: 1e12, windowSecs: 60 },
  { key: 'global:llm:bench:model:tpm', kind: 'rolling', capacity: 1e12, windowSecs: 60 },
  {
    key: 'global:llm:bench:model:concurrency',
    kind: 'concurrency',
    capacity: 1e9,
    timeoutSecs: 300,
  },
]

const [RPM, TPM, CONCURRENCY] = LIMITS as readonly [Limit, Limit, Limit]

/** A request, its tokens, and its place among those that run. */
export const THREE: readonly Requirement[] = [
  { key: RPM.key, amount: 1 },
  { key: TPM.key, amount: 100 },
  { key: CONCURRENCY.key, amount: 1 },
]
export const ONE: readonly Requirement[] = [{ key: RPM.key, amount: 1 }]
export const ACTUALS: readonly Requirement[] = [{ key: TPM.key, amount: 60 }]

let ids = 0
export function newId(): string {
  return `bench-${process.pid}-${ids++}`
}

/** Something that can be done again and again. */
export interface Operation {
  readonly name: string
  readonly note: string
  readonly once: () => Promise<unknown>
  /** How many operations one call stands for. */
  readonly counts?: number
  readonly close?: () => Promise<unknown>
}

/** Operations a second with that many under way at all times, for that long. */
export async function rateOf(
  { once, counts = 1 }: Operation,
  { inFlight, seconds }: { readonly inFlight: number; readonly seconds: number },
): Promise<number> {
  const started = performance.now()
  const until = started + seconds * 1_000
  let done = 0
  const lane = async (): Promise<void> => {
    while (performance.now() < until) {
      await once()
      done++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return (done * counts) / ((performance.now() - started) / 1_000)
}
