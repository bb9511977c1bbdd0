import { ceilDiv } from '../../encoding/exact-int.ts'
import { KIND_NAMES, type KindName } from '../../enqueue/kinds.ts'
import {
  type Band,
  DIMENSIONS,
  type Dimension,
  isWorse,
  SEVERITIES,
  type Severity,
  type Sla,
} from '../../policy/sla-policy.ts'
import { type Metric, type Metrics, metricsOf } from './figures.ts'
import type { OutcomeWindow } from './outcome-window.ts'

/** The service of a provider in one epoch. */
export interface Conduct {
  readonly epoch: number
  /** Stake and stake on its way out: the most that a slash can take. */
  readonly atStake: bigint
  /** The epochs in which it was slashed before. */
  readonly offenceEpochs: readonly number[]
  readonly kinds: readonly KindConduct[]
}

export interface KindConduct {
  readonly kind: KindName
  /** As it stands at the close. */
  readonly band: Band
  /** Over the outcomes of the epoch. */
  readonly metrics: Metrics
}

export interface Violation {
  readonly kind: KindName
  readonly dimension: Dimension
  readonly severity: Severity
  /** False if it has too few samples, or the provider is in a band above fail. */
  readonly counts: boolean
}

/** The judgement of a provider at the close of an epoch (SLA-6). */
export type Judgement =
  | { readonly decision: 'NONE' | 'WARNING'; readonly violations: readonly Violation[] }
  | {
      readonly decision: 'SLASH'
      readonly violations: readonly Violation[]
      readonly severity: Severity
      readonly reason: Dimension
      /** 0, 1 or 2: the first, the second, or a later offence. */
      readonly offenceIndex: 0 | 1 | 2
      readonly slash: bigint
      readonly cooldownEpochs: number
      readonly jailEpochs: number
    }

export function judge(conduct: Conduct, sla: Sla): Judgement {
  const violations = violationsOf(conduct.kinds, sla)
  const worst = worstOf(violations.filter(({ counts }) => counts))
  if (worst === null) {
    return { decision: violations.length === 0 ? 'NONE' : 'WARNING', violations }
  }
  const { severity, dimension: reason } = worst
  const offenceIndex = offenceIndexOf(conduct, sla)
  const tenths = sla.escalationTenths[offenceIndex]
  const { slash, cooldownEpochs, jailEpochs } = sla.severity[severity]
  const asked = (slash * BigInt(tenths)) / 10n
  return {
    decision: 'SLASH',
    violations,
    severity,
    reason,
    offenceIndex,
    slash: asked < conduct.atStake ? asked : conduct.atStake,
    cooldownEpochs: ceilDiv(cooldownEpochs * tenths, 10) as number,
    jailEpochs: ceilDiv(jailEpochs * tenths, 10) as number,
  }
}

/** The conduct of a provider in an epoch, by kinds in their order; kinds without an outcome in it are left out. */
export function conductIn(
  epoch: number,
  windows: ReadonlyMap<KindName, OutcomeWindow>,
  sla: Sla,
): KindConduct[] {
  return KIND_NAMES.flatMap((kind) => {
    const window = windows.get(kind)
    const figures = window?.figuresIn(epoch, sla)
    if (window === undefined || figures === undefined || figures.outcomes === 0) return []
    return [{ kind, band: window.band(sla), metrics: metricsOf(figures) }]
  })
}

/** The offences that can still count, after one more: only the newest two make a difference (SLA-7). */
export function withOffence(offenceEpochs: readonly number[], epoch: number): number[] {
  return [...offenceEpochs, epoch].slice(-2)
}

/** By kind and dimension, in their order. */
function violationsOf(kinds: readonly KindConduct[], sla: Sla): Violation[] {
  return KIND_NAMES.flatMap((kind) => kinds.filter((each) => each.kind === kind)).flatMap(
    ({ kind, band, metrics }) =>
      DIMENSIONS.flatMap((dimension) => {
        const metric = metrics[dimension]
        const severity = metric === undefined ? null : severityOf(dimension, metric, sla)
        if (metric === undefined || severity === null) return []
        const counts = band === 'fail' && metric.samples >= sla.slash[dimension].samples
        return [{ kind, dimension, severity, counts }]
      }),
  )
}

/** The worst threshold that the figure is beyond; a figure of no samples is beyond none. */
function severityOf(dimension: Dimension, { value, samples }: Metric, sla: Sla): Severity | null {
  if (samples < 1) return null
  const row = sla.slash[dimension]
  const isBeyond = (severity: Severity): boolean => {
    const threshold = row[severity]
    return threshold !== null && isWorse(dimension, value, threshold)
  }
  return SEVERITIES.findLast(isBeyond) ?? null
}

/** The first of the worst. */
function worstOf(violations: readonly Violation[]): Violation | null {
  let worst: Violation | null = null
  for (const violation of violations) {
    const isFirst = worst === null
    if (isFirst || rank(violation) > rank(worst as Violation)) worst = violation
  }
  return worst
}

function rank({ severity }: Violation): number {
  return SEVERITIES.indexOf(severity)
}

function offenceIndexOf({ epoch, offenceEpochs }: Conduct, sla: Sla): 0 | 1 | 2 {
  const earlier = offenceEpochs.filter((each) => each > epoch - sla.offenceEpochs).length
  return earlier === 0 ? 0 : earlier === 1 ? 1 : 2
}
