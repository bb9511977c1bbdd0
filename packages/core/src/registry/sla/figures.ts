import { ceilDiv, type ExactInt, exactInt, floorDiv, times } from '../../encoding/exact-int.ts'
import { BANDS, type Band, type Dimension, type Sla } from '../../policy/sla-policy.ts'
import type { Outcome } from './outcome.ts'

/** Figures over a set of outcomes (SLA-2). */
export interface Figures {
  readonly outcomes: number
  readonly completions: number
  /** Nearest rank, ms for each unit; null without a completion. */
  readonly p95Ms: number | null
  readonly failPpm: number
  readonly availabilityPpm: number
  readonly trapShots: bigint
  readonly trapsFailed: bigint
}

/** A figure, and the number of samples behind it. */
export interface Metric {
  readonly value: number
  readonly samples: ExactInt
}

/** Dimensions without samples are left out. */
export type Metrics = Readonly<Partial<Record<Dimension, Metric>>>

const PPM = 1_000_000

export function figuresOf(outcomes: readonly Outcome[]): Figures {
  const unitMs: number[] = []
  let charges = 0
  let timeouts = 0
  let trapShots = 0n
  let trapsFailed = 0n
  for (const outcome of outcomes) {
    if (outcome.unitMs !== null) unitMs.push(outcome.unitMs)
    if (isCharge(outcome)) charges++
    if (isTimeout(outcome)) timeouts++
    if (outcome.traps === null) continue
    trapShots += outcome.traps.shots
    trapsFailed += outcome.traps.shots - outcome.traps.passed
  }
  const sorted = unitMs.sort((a, b) => a - b)
  return {
    outcomes: outcomes.length,
    completions: sorted.length,
    p95Ms: p95(sorted),
    ...rates({ outcomes: outcomes.length, charges, timeouts }),
    trapShots,
    trapsFailed,
  }
}

/** Rounded to the provider's disadvantage: fails up, availability down. Without outcomes: 0 and 10^6. */
export function rates(counts: {
  readonly outcomes: number
  readonly charges: number
  readonly timeouts: number
}): Pick<Figures, 'failPpm' | 'availabilityPpm'> {
  const { outcomes, charges, timeouts } = counts
  if (outcomes === 0) return { failPpm: 0, availabilityPpm: PPM }
  return {
    failPpm: ceilDiv(charges * PPM, outcomes) as number,
    availabilityPpm: floorDiv((outcomes - timeouts) * PPM, outcomes) as number,
  }
}

/** The nearest rank of 95 % among ascending values. */
export function p95(sorted: readonly number[]): number | null {
  const rank = ceilDiv(95 * sorted.length, 100) as number
  return sorted[rank - 1] ?? null
}

export function isCharge({ result }: Outcome): boolean {
  return result !== 'completed'
}

export function isTimeout({ result }: Outcome): boolean {
  return result === 'ack_timeout' || result === 'lease_expired'
}

/** The first band whose limits all hold (SLA-3). */
export function bandOf(
  figures: Pick<Figures, 'outcomes' | 'p95Ms' | 'failPpm' | 'availabilityPpm'>,
  { minSamples, bands }: Sla,
): Band {
  if (figures.outcomes < minSamples) return 'silver'
  const holds = (name: Band): boolean => {
    if (name === 'fail') return true
    const { p95Ms, failPpm, availabilityPpm } = bands[name]
    const isFast = figures.p95Ms === null || figures.p95Ms <= p95Ms
    return isFast && figures.failPpm <= failPpm && figures.availabilityPpm >= availabilityPpm
  }
  return BANDS.find(holds) ?? 'fail'
}

/** The figures by the dimensions that are judged (SLA-5). */
export function metricsOf(figures: Figures): Metrics {
  const { outcomes, completions, p95Ms, failPpm, availabilityPpm, trapShots, trapsFailed } = figures
  const traps =
    trapShots === 0n
      ? {}
      : {
          traps: {
            value: ceilDiv(times(exactInt(trapsFailed), PPM), exactInt(trapShots)) as number,
            samples: exactInt(trapShots),
          },
        }
  if (outcomes === 0) return traps
  return {
    ...traps,
    fails: { value: failPpm, samples: outcomes },
    ...(p95Ms !== null && { latency: { value: p95Ms, samples: completions } }),
    availability: { value: availabilityPpm, samples: outcomes },
  }
}
