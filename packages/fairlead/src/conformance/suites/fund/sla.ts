import { type KindName, parsePolicy } from '@fairlead/core'
import {
  type Conduct,
  conductIn,
  type Judgement,
  judge,
  type KindConduct,
  type Metric,
  type Outcome,
  OutcomeWindow,
  SLA_RESULTS,
  type Sla,
  showU64,
  unitMs,
} from '@fairlead/core/internal'
import { amount, type Json, suite } from '../../suite.ts'
import { registryScript } from './registry-script.ts'

/** §19: bands, judgement, statuses. */
export const sla = suite((input) => {
  const run = KINDS[input.kind]
  if (run === undefined) throw new TypeError(`kind: unknown kind ${input.kind}`)
  return run(input)
})

const KINDS: Readonly<Record<string, (input: Json) => Json>> = {
  band({ outcomes, policy }) {
    const terms = slaOf(policy)
    const window = windowOf(outcomes, terms)
    const figures = window.figures(terms)
    return {
      samples: figures.outcomes,
      p95_ms: figures.p95Ms,
      fail_ppm: figures.failPpm,
      availability_ppm: figures.availabilityPpm,
      band: window.band(terms),
    }
  },
  slash({ policy, kinds, ...conduct }) {
    return judgementShown(judge(conductOf(conduct, kinds.map(kindRead)), slaOf(policy)))
  },
  epoch({ policy, outcomes, ...conduct }) {
    const terms = slaOf(policy)
    const windows = new Map(
      Object.entries<Json>(outcomes).map(([kind, list]) => [
        kind as KindName,
        windowOf(list, terms),
      ]),
    )
    const kinds = conductIn(conduct.epoch, windows, terms)
    const judgement = judge(conductOf(conduct, kinds), terms)
    return { ...judgementShown(judgement), kinds: kinds.map(kindShown) }
  },
  registry: registryScript,
}

function slaOf(written: Json): Sla {
  return parsePolicy({ sla: written ?? {} }, 'fund').sla
}

function conductOf({ stake, epoch, offence_epochs }: Json, kinds: KindConduct[]): Conduct {
  return { atStake: amount(stake), epoch, offenceEpochs: offence_epochs, kinds }
}

function windowOf(outcomes: Json, terms: Sla): OutcomeWindow {
  const window = new OutcomeWindow()
  for (const json of outcomes) {
    const outcome = outcomeOf(json)
    for (let i = 0; outcome !== null && i < json.count; i++) window.record(outcome, terms)
  }
  return window
}

/** Null for what is no outcome at all. */
function outcomeOf({
  result: named,
  epoch = 0,
  traps,
  elapsed_ms,
  gap_ms = 0,
  units = 1,
}: Json): Outcome | null {
  const result = SLA_RESULTS.find((one) => one === named)
  if (result === undefined) return null
  const run = { elapsedMs: elapsed_ms, gapMs: gap_ms, estimatedUnits: units }
  return {
    result,
    epoch,
    unitMs: result === 'completed' ? unitMs(run) : null,
    traps: traps ? { shots: amount(traps.shots), passed: amount(traps.passed) } : null,
  }
}

function kindRead({ kind, band, metrics }: Json): KindConduct {
  const read = Object.entries<Json>(metrics).map(([dimension, { value, samples }]) => [
    dimension,
    { value: Number(amount(value)), samples: amount(samples) },
  ])
  return { kind, band, metrics: Object.fromEntries(read) }
}

function kindShown({ kind, band, metrics }: KindConduct): Json {
  const shown = Object.entries<Metric>(metrics).map(([dimension, { value, samples }]) => [
    dimension,
    { value, samples: showU64(BigInt(samples)) },
  ])
  return { kind, band, metrics: Object.fromEntries(shown) }
}

function judgementShown(judgement: Judgement): Json {
  const { decision, violations } = judgement
  if (judgement.decision !== 'SLASH') {
    const none = { severity: null, reason: null, offence_index: null }
    return { decision, violations, ...none, slash: 0, cooldown_epochs: 0, jail_epochs: 0 }
  }
  return {
    decision,
    violations,
    severity: judgement.severity,
    reason: judgement.reason,
    offence_index: judgement.offenceIndex,
    slash: showU64(judgement.slash),
    cooldown_epochs: judgement.cooldownEpochs,
    jail_epochs: judgement.jailEpochs,
  }
}
