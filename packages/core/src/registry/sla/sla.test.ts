import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { fundPolicy } from '../../../test/any-fund.ts'
import type { KindName } from '../../enqueue/kinds.ts'
import type { Band } from '../../policy/sla-policy.ts'
import { bandOf, figuresOf, type Metrics, metricsOf } from './figures.ts'
import { type Conduct, conductIn, type Judgement, judge, withOffence } from './judge.ts'
import { type Outcome, SLA_RESULTS, type SlaResult, unitMs } from './outcome.ts'
import { OutcomeWindow } from './outcome-window.ts'

const { sla: SLA } = fundPolicy()

function outcome(result: SlaResult, fields: Partial<Outcome> = {}): Outcome {
  const ms = result === 'completed' ? 100 : null
  return { result, epoch: 100, unitMs: ms, traps: null, ...fields }
}

const many = (count: number, result: SlaResult, fields: Partial<Outcome> = {}): Outcome[] =>
  Array.from({ length: count }, () => outcome(result, fields))

function windowOf(outcomes: readonly Outcome[], window = SLA.window): OutcomeWindow {
  const made = new OutcomeWindow()
  for (const each of outcomes) made.record(each, { window })
  return made
}

describe('outcomes', () => {
  it('SLA-1: a completion and four charges count', () => {
    const results = ['completed', 'provider_fail', 'proof_invalid', 'ack_timeout', 'lease_expired']
    expect(SLA_RESULTS).toEqual(results)
    const figures = figuresOf(SLA_RESULTS.map((result) => outcome(result)))
    expect(figures).toMatchObject({ outcomes: 5, failPpm: 800_000, availabilityPpm: 600_000 })
  })

  it('SLA-2: a completion takes its time for each estimated unit, without downtime', () => {
    expect(unitMs({ elapsedMs: 7_000, gapMs: 0, estimatedUnits: 3 })).toBe(2_333)
    expect(unitMs({ elapsedMs: 603_000, gapMs: 600_000, estimatedUnits: 1 })).toBe(3_000)
    expect(unitMs({ elapsedMs: 0, gapMs: 0, estimatedUnits: 5 })).toBe(0)
  })
})

describe('figures', () => {
  it('SLA-2: of nothing they are 0, 10^6 and null', () => {
    expect(figuresOf([])).toMatchObject({ failPpm: 0, availabilityPpm: 1_000_000, p95Ms: null })
    expect(metricsOf(figuresOf([]))).toEqual({})
  })

  it('SLA-2: fails are rounded up, availability down', () => {
    const figures = figuresOf([...many(2, 'completed'), outcome('ack_timeout')])
    expect(figures).toMatchObject({ failPpm: 333_334, availabilityPpm: 666_666 })
  })

  it.each([
    [1, 1],
    [19, 19],
    [20, 19],
    [21, 20],
    [100, 95],
    [101, 96],
  ])('SLA-2: of %d completions the p95 is the one of rank %d', (count, rank) => {
    const outcomes = Array.from({ length: count }, (_, i) =>
      outcome('completed', { unitMs: i + 1 }),
    )
    expect(figuresOf(outcomes.reverse()).p95Ms).toBe(rank)
  })

  it('SLA-2: trap shots may be more than 2^53', () => {
    const shots = 2n ** 63n
    const traps = { shots, passed: shots - 1n }
    const metrics = metricsOf(figuresOf(many(3, 'completed', { traps })))
    expect(metrics.traps).toEqual({ value: 1, samples: 3n * shots })
  })
})

describe('the band', () => {
  it.each<[string, Outcome[], Band]>([
    ['nothing', [], 'silver'],
    ['49 perfect ones', many(49, 'completed'), 'silver'],
    ['49 bad ones', many(49, 'ack_timeout'), 'silver'],
    ['50 perfect ones', many(50, 'completed'), 'gold'],
    ['a p95 at the limit', many(50, 'completed', { unitMs: 3_000 }), 'gold'],
    ['a p95 over it', many(50, 'completed', { unitMs: 3_001 }), 'silver'],
    ['a slow one', many(50, 'completed', { unitMs: 12_000 }), 'bronze'],
    ['a slower one', many(50, 'completed', { unitMs: 12_001 }), 'fail'],
    ['fails at 10,000 ppm', [...many(99, 'completed'), outcome('provider_fail')], 'gold'],
    ['fails over that', [...many(98, 'completed'), outcome('provider_fail')], 'silver'],
    ['availability under 990,000', [...many(98, 'completed'), outcome('ack_timeout')], 'silver'],
    ['nothing completed', many(50, 'provider_fail'), 'fail'],
  ])('SLA-3: of %s', (_, outcomes, band) => {
    expect(windowOf(outcomes).band(SLA)).toBe(band)
  })

  it('SLA-3: a p95 of nothing holds', () => {
    const figures = { outcomes: 50, p95Ms: null, failPpm: 0, availabilityPpm: 1_000_000 }
    expect(bandOf(figures, SLA)).toBe('gold')
  })

  it('SLA-3: only the newest of the window count', () => {
    const outcomes = [...many(2_000, 'provider_fail'), ...many(1_999, 'completed')]
    expect(windowOf(outcomes).figures(SLA)).toMatchObject({ outcomes: 2_000, failPpm: 500 })
    expect(windowOf([...outcomes, outcome('completed')]).figures(SLA).failPpm).toBe(0)
  })
})

describe('the window', () => {
  it('SLA-9: each outcome has a number, and the first is told', () => {
    const window = new OutcomeWindow()
    for (let n = 0; n < 5; n++) expect(window.record(outcome('completed'), { window: 3 })).toBe(n)
    expect([window.first, window.size, window.state().outcomes.length]).toEqual([2, 3, 3])
  })

  const anyOutcome = fc.record({
    result: fc.constantFrom(...SLA_RESULTS),
    epoch: fc.integer({ min: 99, max: 101 }),
    ms: fc.nat(5),
  })

  test('SLA-9: its running figures are those of a list, restored at any point and with any window', () => {
    const outcomes = fc.array(anyOutcome, { maxLength: 40 })
    fc.assert(
      fc.property(outcomes, fc.integer({ min: 1, max: 12 }), fc.nat(40), (list, size, at) => {
        let window = new OutcomeWindow()
        const all: Outcome[] = []
        list.forEach(({ result, epoch, ms }, i) => {
          if (i === at) window = new OutcomeWindow(structuredClone(window.state()))
          const made = outcome(result, { epoch, ...(result === 'completed' && { unitMs: ms }) })
          all.push(made)
          window.record(made, { window: size })
          const { outcomes: count, p95Ms, failPpm, availabilityPpm } = figuresOf(all.slice(-size))
          const figures = { outcomes: count, p95Ms, failPpm, availabilityPpm }
          expect(window.figures({ window: size })).toEqual(figures)
          expect(window.figuresIn(100, { window: size })).toEqual(
            figuresOf(all.slice(-size).filter((each) => each.epoch === 100)),
          )
          const smaller = figuresOf(all.slice(-Math.min(size, 2)))
          expect(window.figures({ window: 2 }).failPpm).toBe(smaller.failPpm)
        })
        window.trim(1)
        expect(window.size).toBe(Math.min(1, all.length))
        expect(window.state().outcomes).toEqual(all.slice(-1))
      }),
      { numRuns: 200 },
    )
  })
})

const metric = (value: number, samples = 1_000) => ({ value, samples })
const conduct = (
  metrics: Metrics,
  fields: Partial<Conduct> = {},
  band: Band = 'fail',
): Conduct => ({
  epoch: 100,
  atStake: 1_000_000n,
  offenceEpochs: [],
  kinds: [{ kind: 'ai', band, metrics }],
  ...fields,
})

/** A decision in short: its reason and severity, or its name. */
function brief(judgement: Judgement): string {
  if (judgement.decision !== 'SLASH') return judgement.decision
  return `${judgement.reason} ${judgement.severity}`
}

describe('the judgement', () => {
  it.each<[string, Metrics, string]>([
    ['traps at 20,000', { traps: metric(20_000) }, 'NONE'],
    ['traps over 20,000', { traps: metric(20_001) }, 'traps major'],
    ['traps over 100,000', { traps: metric(100_001) }, 'traps critical'],
    ['fails at 70,000', { fails: metric(70_000) }, 'NONE'],
    ['fails over 70,000', { fails: metric(70_001) }, 'fails minor'],
    ['fails over 300,000', { fails: metric(300_001) }, 'fails critical'],
    ['latency over 12,000', { latency: metric(12_001) }, 'latency minor'],
    ['any latency over 30,000', { latency: metric(9e9) }, 'latency major'],
    ['availability at 950,000', { availability: metric(950_000) }, 'NONE'],
    ['availability under it', { availability: metric(949_999) }, 'availability minor'],
    ['availability under 800,000', { availability: metric(799_999) }, 'availability critical'],
    ['nothing', {}, 'NONE'],
    ['the worst of all', { fails: metric(80_000), latency: metric(31_000) }, 'latency major'],
    ['the first of equals', { latency: metric(31_000), fails: metric(151_000) }, 'fails major'],
  ])('SLA-5: %s', (_, metrics, expected) => {
    expect(brief(judge(conduct(metrics), SLA))).toBe(expected)
  })

  it('SLA-5: too few samples, or a better band, do not count', () => {
    const bad = { fails: metric(900_000, 199) }
    expect(judge(conduct(bad), SLA)).toMatchObject({
      decision: 'WARNING',
      violations: [{ kind: 'ai', dimension: 'fails', severity: 'critical', counts: false }],
    })
    expect(brief(judge(conduct({ fails: metric(900_000, 200) }), SLA))).toBe('fails critical')
    for (const band of ['gold', 'silver', 'bronze'] as const) {
      expect(brief(judge(conduct({ fails: metric(900_000) }, {}, band), SLA))).toBe('WARNING')
    }
  })

  it('SLA-5: a figure of no samples is no violation', () => {
    expect(brief(judge(conduct({ fails: metric(900_000, 0) }), SLA))).toBe('NONE')
  })

  it('SLA-6: over all kinds the worst decides, of equal ones the first by kind', () => {
    const kinds = (ai: number, quantum: number) => [
      { kind: 'quantum' as const, band: 'fail' as const, metrics: { latency: metric(quantum) } },
      { kind: 'ai' as const, band: 'fail' as const, metrics: { fails: metric(ai) } },
    ]
    const decide = (ai: number, quantum: number) =>
      brief(judge(conduct({}, { kinds: kinds(ai, quantum) }), SLA))
    expect(decide(80_000, 13_000)).toBe('fails minor')
    expect(decide(80_000, 31_000)).toBe('latency major')
    expect(decide(400_000, 31_000)).toBe('fails critical')
  })

  it.each([
    [[], 0, 10_000n, 1],
    [[92], 0, 10_000n, 1],
    [[93], 1, 15_000n, 2],
    [[99, 92], 1, 15_000n, 2],
    [[93, 99], 2, 20_000n, 2],
    [[95, 96, 97, 98], 2, 20_000n, 2],
  ])(
    'SLA-7: after offences in %j the factor is number %d',
    (offenceEpochs, index, slash, cooldown) => {
      expect(judge(conduct({ fails: metric(70_001) }, { offenceEpochs }), SLA)).toMatchObject({
        offenceIndex: index,
        slash,
        cooldownEpochs: cooldown,
        jailEpochs: 0,
      })
    },
  )

  it('SLA-7: amounts are rounded down, epochs up, and no slash is over what is at stake', () => {
    const { sla } = fundPolicy(
      {},
      { severity: { critical: { slash: 7, cooldown_epochs: 3, jail_epochs: 1 } } },
    )
    const bad = conduct({ fails: metric(300_001) }, { offenceEpochs: [99] })
    expect(judge(bad, sla)).toMatchObject({ slash: 10n, cooldownEpochs: 5, jailEpochs: 2 })
    expect(judge({ ...bad, atStake: 9n }, sla)).toMatchObject({ slash: 9n })
    expect(judge({ ...bad, atStake: 0n }, sla)).toMatchObject({ decision: 'SLASH', slash: 0n })
  })

  test('SLA-7: the newest two offences decide as all of them would', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(99), { maxLength: 8 }), (epochs) => {
        const sorted = epochs.sort((a, b) => a - b)
        const kept = sorted.reduce<number[]>(withOffence, [])
        const bad = conduct({ fails: metric(300_001) })
        expect(judge({ ...bad, offenceEpochs: kept }, SLA)).toEqual(
          judge({ ...bad, offenceEpochs: sorted }, SLA),
        )
      }),
    )
  })

  it('SLA-4: only outcomes of the epoch are judged, by the band of the whole window', () => {
    const before = many(300, 'provider_fail', { epoch: 99 })
    const windows = (outcomes: Outcome[]) =>
      new Map<KindName, OutcomeWindow>([['ai', windowOf(outcomes)]])
    const good = conductIn(100, windows([...before, ...many(300, 'completed')]), SLA)
    expect(good).toMatchObject([
      { kind: 'ai', band: 'fail', metrics: { fails: { value: 0, samples: 300 } } },
    ])
    expect(conductIn(101, windows(before), SLA)).toEqual([])
    expect(conductIn(99, windows(before), SLA)).toMatchObject([
      { metrics: { fails: { value: 1_000_000 } } },
    ])
  })

  it('SLA-4: kinds come in their order, and outcomes that left the window are not judged', () => {
    const windows = new Map<KindName, OutcomeWindow>([
      ['quantum', windowOf(many(5, 'completed'))],
      ['ai', windowOf([...many(10, 'provider_fail', { epoch: 99 }), ...many(5, 'completed')], 5)],
    ])
    expect(conductIn(100, windows, SLA).map(({ kind }) => kind)).toEqual(['ai', 'quantum'])
    expect(conductIn(99, windows, SLA)).toEqual([])
  })
})
