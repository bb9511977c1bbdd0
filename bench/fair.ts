import type { Options, Report } from './bench.ts'
import { checkBound } from './fair/share-bound.ts'
import { medianRatio } from './in-turns.ts'
import { chosen } from './queue/chosen.ts'
import { type Entrant, Measurer } from './queue/measure.ts'
import type { Figures } from './queue/scenarios.ts'
import { SUBJECT_NAMES, SUBJECTS, type SubjectName } from './queue/subject.ts'

export const name = 'fair'
export const question =
  'What does fairness between tenants cost, what does it do for a late one, and does its bound hold?'

const JOBS = 50_000
/** Pairs of runs; more than elsewhere, for the bars are close to what this kind of machine wavers by. */
const PAIRS = 7
const GRANTS = 100_000
const SEEDS = [1, 2, 3, 4, 5]

/** Limits that are looked at for each job and stop none. */
const ALL_ON = {
  match: { fairness: 'tenant' },
  queue: {
    max_per_caller: 1_000_000,
    quotas: {
      ai_units_per_epoch: 1_000_000_000,
      requester_window: { jobs: 1_000_000, secs: 60 },
    },
  },
}
const SCORE_ORDER = { match: { fairness: 'score' } }
const TENANT_ORDER = { match: { fairness: 'tenant' } }

export async function run(report: Report, options: Options): Promise<void> {
  const cases = chosen(options.only, Object.keys(CASES) as (keyof typeof CASES)[], 'case')
  const subjects = chosen(options.subjects, SUBJECT_NAMES, 'subject')
  const measurer = new Measurer(report, cases.includes('late') ? subjects : ['fairlead'])
  try {
    for (const one of cases) await CASES[one]({ report, measurer, options, subjects })
  } finally {
    await measurer.close()
  }
}

interface Run {
  readonly report: Report
  readonly measurer: Measurer
  readonly options: Options
  readonly subjects: readonly SubjectName[]
}

const CASES = {
  async cost({ report, measurer, options }: Run): Promise<void> {
    const jobs = options.jobs ?? JOBS
    const off: Entrant = {
      name: 'score order, no limits',
      subject: 'fairlead',
      policy: SCORE_ORDER,
    }
    const on: Entrant = { name: 'fair, with limits', subject: 'fairlead', policy: ALL_ON }
    const figures = await measurer.inTurns({
      scenario: 'many-tenants',
      entrants: [off, on],
      repeats: options.repeats ?? PAIRS,
      sizes: { jobs, seconds: 0, drained: 0 },
      what: '1,000 tenants',
    })
    const what = `1,000 tenants, ${jobs.toLocaleString('en')} jobs taken in and done`
    show(report, figures, { case: what, unit: 'jobs/s', figure: 'rate' })
    const rates = (name: string) => valuesOf(figures, name, 'rate')
    const slower = medianRatio(rates(off.name), rates(on.name))
    report.bar({ bar: 'time with fairness and limits on', reached: slower, atMost: 1.25 })
  },

  async late({ report, measurer, options, subjects }: Run): Promise<void> {
    const sizes = { jobs: 0, seconds: 0, drained: 0 }
    const scenario = 'late-tenant'
    const score: Entrant = { name: 'score order', subject: 'fairlead', policy: SCORE_ORDER }
    const fair: Entrant = { name: 'fair', subject: 'fairlead', policy: TENANT_ORDER }
    const own = await measurer.inTurns({
      scenario,
      entrants: [score, fair],
      repeats: options.repeats ?? PAIRS,
      sizes,
      what: 'a late tenant',
    })
    const peers = await measurer.inTurns({
      scenario,
      entrants: subjects
        .filter((subject) => SUBJECTS[subject].isPeer && subject !== 'bullmq-aof')
        .map((subject) => ({ name: subject, subject })),
      repeats: 1,
      sizes,
      what: 'a late tenant',
    })
    const figures = new Map([...own, ...peers])
    const served = show(report, figures, {
      case: "of a big tenant's 5,000 jobs, served until a late one's 100 were done",
      unit: '%',
      figure: 'servedMeanwhile',
      times: 100,
    })
    show(report, own, { case: 'time for all 5,100 jobs', unit: 's', figure: 'seconds' })
    const share = served.get(fair.name) ?? Number.NaN
    report.bar({ bar: 'per cent served meanwhile', reached: share, atMost: 3 })
    const seconds = (name: string) => valuesOf(own, name, 'seconds')
    const longer = medianRatio(seconds(fair.name), seconds(score.name))
    report.bar({ bar: 'time for all against score order', reached: longer, atMost: 1.05 })
  },

  async bound({ report }: Run): Promise<void> {
    const checks = SEEDS.map((seed) => {
      report.progress(`the bound, seed ${seed}`)
      return checkBound({ grants: GRANTS, seed })
    })
    report.measured({
      case: `furthest apart, 50 tenants, ${GRANTS.toLocaleString('en')} grants`,
      subject: `fairlead, ${SEEDS.length} seeds`,
      unit: 'of what is allowed',
      values: checks.map(({ furthest }) => furthest),
    })
    const broken = checks.reduce((sum, check) => sum + check.broken, 0)
    report.bar({ bar: 'grants that broke the bound', reached: broken, atMost: 0 })
  },
}

function valuesOf(
  figures: ReadonlyMap<string, readonly Figures[]>,
  name: string,
  figure: string,
): number[] {
  return (figures.get(name) ?? []).map((run) => run[figure] ?? Number.NaN)
}

function show(
  report: Report,
  figures: ReadonlyMap<string, readonly Figures[]>,
  of: {
    readonly case: string
    readonly unit: string
    readonly figure: string
    readonly times?: number
  },
): ReadonlyMap<string, number> {
  const { times = 1 } = of
  return report.table({
    case: of.case,
    unit: of.unit,
    rows: [...figures].map(([subject, runs]) => ({
      subject,
      durability: SUBJECTS[subject as SubjectName]?.durability ?? SUBJECTS.fairlead.durability,
      values: runs.map((run) => times * (run[of.figure] ?? Number.NaN)),
    })),
  })
}
