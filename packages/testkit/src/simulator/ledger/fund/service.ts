import type { KindName, Policy } from '@fairlead/core'
import type { Traps } from './envelope.ts'

export type Result =
  | 'completed'
  | 'provider_fail'
  | 'proof_invalid'
  | 'ack_timeout'
  | 'lease_expired'

/** SLA-1. */
export interface OutcomeEntry {
  readonly n: number
  readonly result: Result
  readonly epoch: number
  readonly unitMs: number | null
  readonly traps: Traps | null
}

type Severity = 'minor' | 'major' | 'critical'
type Dimension = 'traps' | 'fails' | 'latency' | 'availability'
type Sla = Policy['sla']

/** What a close decides about a provider. */
export type Judgement =
  | { readonly type: 'warning'; readonly violations: readonly string[] }
  | {
      readonly type: 'slash'
      readonly reason: Dimension
      readonly amount: bigint
      readonly cooldownEpochs: number
      readonly jailEpochs: number
    }

const SEVERITIES: readonly Severity[] = ['minor', 'major', 'critical']
const KINDS: readonly KindName[] = ['ai', 'quantum']

/** SLA-2 to SLA-9 as plainly as they can be written. */
export class ServiceRecord {
  /** Every outcome ever, by provider and kind. */
  readonly #outcomes = new Map<string, OutcomeEntry[]>()
  readonly offences = new Map<string, number[]>()
  /** Those below this number are gone, also for a larger window later. */
  readonly #first = new Map<string, number>()

  record(
    providerId: string,
    kind: KindName,
    outcome: Omit<OutcomeEntry, 'n'>,
    { sla }: Policy,
  ): void {
    const key = `${providerId} ${kind}`
    const list = this.#outcomes.get(key) ?? []
    this.#outcomes.set(key, list)
    list.push({ ...outcome, n: list.length })
    this.#trim(key, sla.window)
  }

  /** The policy changed. */
  trim({ sla }: Policy): void {
    for (const key of this.#outcomes.keys()) this.#trim(key, sla.window)
  }

  /** Those that are kept. */
  kept(): Map<string, OutcomeEntry> {
    const all = new Map<string, OutcomeEntry>()
    for (const [key, list] of this.#outcomes) {
      for (const one of list.slice(this.#first.get(key) ?? 0)) all.set(`${key} ${one.n}`, one)
    }
    return all
  }

  providers(): string[] {
    return [...new Set([...this.#outcomes.keys()].map((key) => key.split(' ')[0] as string))].sort()
  }

  band(providerId: string, kind: KindName, { sla }: Policy): keyof Policy['economics']['qPpm'] {
    const { count, p95, failPpm, availabilityPpm } = figuresOf(this.#window(providerId, kind, sla))
    if (count < sla.minSamples) return 'silver'
    for (const name of ['gold', 'silver', 'bronze'] as const) {
      const limits = sla.bands[name]
      const isSlow = p95 !== null && p95 > limits.p95Ms
      if (isSlow || failPpm > limits.failPpm || availabilityPpm < limits.availabilityPpm) continue
      return name
    }
    return 'fail'
  }

  /** SLA-4 to SLA-7; null if there is nothing to say. */
  judge(providerId: string, epoch: number, atStake: bigint, policy: Policy): Judgement | null {
    const { sla } = policy
    const found = KINDS.flatMap((kind) => {
      const own = this.#window(providerId, kind, sla).filter((one) => one.epoch === epoch)
      const isFail = this.band(providerId, kind, policy) === 'fail'
      return violationsOf(own, sla).map((one) => ({ ...one, kind, counts: one.isEnough && isFail }))
    })
    const counting = found.filter(({ counts }) => counts)
    const worst = SEVERITIES.findLast((severity) =>
      counting.some((one) => one.severity === severity),
    )
    if (worst === undefined) {
      if (found.length === 0) return null
      const violations = found.map(
        ({ kind, dimension, severity }) => `${kind} ${dimension} ${severity}`,
      )
      return { type: 'warning', violations }
    }
    const { dimension } = counting.find(({ severity }) => severity === worst) ?? {
      dimension: 'traps',
    }
    const earlier = (this.offences.get(providerId) ?? []).filter(
      (e) => e > epoch - sla.offenceEpochs,
    )
    const tenths = sla.escalationTenths[Math.min(2, earlier.length) as 0 | 1 | 2]
    const { slash, cooldownEpochs, jailEpochs } = sla.severity[worst]
    const asked = (slash * BigInt(tenths)) / 10n
    return {
      type: 'slash',
      reason: dimension as Dimension,
      amount: asked < atStake ? asked : atStake,
      cooldownEpochs: Math.ceil((cooldownEpochs * tenths) / 10),
      jailEpochs: Math.ceil((jailEpochs * tenths) / 10),
    }
  }

  offend(providerId: string, epoch: number): void {
    this.offences.set(providerId, [...(this.offences.get(providerId) ?? []), epoch])
  }

  #window(providerId: string, kind: KindName, { window }: Sla): OutcomeEntry[] {
    const key = `${providerId} ${kind}`
    return (this.#outcomes.get(key) ?? []).slice(this.#first.get(key) ?? 0).slice(-window)
  }

  #trim(key: string, window: number): void {
    const first = (this.#outcomes.get(key)?.length ?? 0) - window
    if (first > (this.#first.get(key) ?? 0)) this.#first.set(key, first)
  }
}

interface Figures {
  readonly count: number
  readonly completions: number
  readonly p95: number | null
  readonly failPpm: number
  readonly availabilityPpm: number
  readonly shots: bigint
  readonly failed: bigint
}

function figuresOf(outcomes: readonly OutcomeEntry[]): Figures {
  const times = outcomes.flatMap(({ unitMs }) => (unitMs === null ? [] : [unitMs]))
  times.sort((a, b) => a - b)
  const count = outcomes.length
  const fails = outcomes.filter(({ result }) => result !== 'completed').length
  const away = outcomes.filter(
    ({ result }) => result === 'ack_timeout' || result === 'lease_expired',
  )
  const traps = outcomes.flatMap((one) => (one.traps === null ? [] : [one.traps]))
  return {
    count,
    completions: times.length,
    p95: times.length === 0 ? null : (times[Math.ceil((95 * times.length) / 100) - 1] as number),
    failPpm: count === 0 ? 0 : Math.ceil((1e6 * fails) / count),
    availabilityPpm: count === 0 ? 1e6 : Math.floor((1e6 * (count - away.length)) / count),
    shots: traps.reduce((sum, { shots }) => sum + shots, 0n),
    failed: traps.reduce((sum, { shots, passed }) => sum + shots - passed, 0n),
  }
}

/** SLA-5, by dimension. */
function violationsOf(outcomes: readonly OutcomeEntry[], { slash }: Sla) {
  if (outcomes.length === 0) return []
  const figures = figuresOf(outcomes)
  const { shots, failed, count } = figures
  const values: readonly (readonly [Dimension, number, number])[] = [
    ['traps', shots === 0n ? 0 : Math.ceil((1e6 * Number(failed)) / Number(shots)), Number(shots)],
    ['fails', figures.failPpm, count],
    ['latency', figures.p95 ?? 0, figures.completions],
    ['availability', figures.availabilityPpm, count],
  ]
  return values.flatMap(([dimension, value, samples]) => {
    const row = slash[dimension]
    const severity = SEVERITIES.findLast((name) => {
      const most = row[name]
      if (most === null || samples === 0) return false
      return dimension === 'availability' ? value < most : value > most
    })
    if (severity === undefined) return []
    return [{ dimension, severity, isEnough: samples >= row.samples }]
  })
}
