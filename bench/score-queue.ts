import { aiDemand, type Job, parsePolicy } from '@fairlead/core'
import { newJob, WaitingQueue } from '@fairlead/core/internal'
import { heapBytes, type Report, secondsOf } from './bench.ts'
import { callerNumber, jobIdNumber, numbers } from './fixtures.ts'
import { inTurns, medianRatio } from './in-turns.ts'
import { HeapAndMap } from './yardsticks/heap-and-map.ts'

export const name = 'score-queue'
export const question = 'How fast do a million jobs go into the score queue and come out in order?'

const JOBS = 1_000_000
const START = 1_760_000_000_000
const POLICY = parsePolicy({ match: { fairness: 'score' } })

export async function run(report: Report): Promise<void> {
  const { fairlead, yardstick } = await inTurns(report, {
    what: `${JOBS.toLocaleString('en')} jobs`,
    measures: { fairlead: onePass, yardstick: heapAndMap },
  })
  for (const [subject, runs] of [
    ['fairlead', fairlead],
    ['yardstick', yardstick],
  ] as const) {
    const of = (what: string, values: number[]) =>
      report.measured({ case: what, subject, unit: 'jobs/s', values })
    of('push', pushes(runs))
    of('pop best', pops(runs))
  }
  const perJob = report.measured({
    case: 'heap beside the id',
    subject: 'fairlead',
    unit: 'bytes/job',
    values: fairlead.map(({ bytes }) => bytes),
  })
  const bar = (what: string, of: (runs: readonly Rates[]) => number[], atLeast: number): void => {
    const reached = medianRatio(of(fairlead), of(yardstick))
    report.bar({ bar: `${what} per second, to a heap and a Map`, reached, atLeast })
  }
  bar('pushes', pushes, 0.4)
  bar('pops', pops, 0.3)
  report.bar({ bar: 'bytes of heap a job beside the id', reached: perJob, atMost: 200 })
}

interface Rates {
  readonly pushes: number
  readonly pops: number
}

function pushes(runs: readonly Rates[]): number[] {
  return runs.map((run) => run.pushes)
}

function pops(runs: readonly Rates[]): number[] {
  return runs.map((run) => run.pops)
}

function onePass(): Rates & { readonly bytes: number } {
  const ids = Array.from({ length: JOBS }, (_, i) => jobIdNumber(i))
  const caller = callerNumber(1)
  const demand = aiDemand('llama3-8b', 256)
  const random = numbers(7)
  const tiers = ['FREE', 'PRO', 'PREMIUM'] as const
  const fees = Array.from({ length: 1_000 }, (_, i) => BigInt(i) * 10_000n)

  const before = heapBytes()
  const queue = new WaitingQueue(POLICY, START)
  const jobs: Job[] = ids.map((id, i) =>
    newJob(
      {
        id,
        kind: 'ai',
        caller,
        tier: tiers[random(3)] as string,
        fee: fees[random(1_000)] as bigint,
        sizeBytes: 100 + random(50_000),
        demand,
        regions: null,
        ttlAbsSecs: null,
        enqueueSeq: i,
      },
      START + Math.floor(i / 10),
    ),
  )
  const pushSecs = secondsOf(() => {
    for (const job of jobs) queue.push(job)
  })
  // The jobs are part of what a waiting job costs; the list that handed them over is not.
  jobs.length = 0
  const bytes = (heapBytes() - before) / JOBS

  // All young at first, then more and more of them over the age horizon while they are popped.
  const popSecs = secondsOf(() => {
    for (let i = 0; i < JOBS; i++) {
      if (queue.popBest(START + 3_600_000 + Math.floor(i / 10)) === undefined) {
        throw new Error(`only ${i} jobs came out`)
      }
    }
  })
  return { pushes: JOBS / pushSecs, pops: JOBS / popSecs, bytes }
}

function heapAndMap(): Rates {
  const ids = Array.from({ length: JOBS }, (_, i) => jobIdNumber(i))
  const random = numbers(7)
  const scores = Float64Array.from(ids, () => random(2 ** 30))
  const queue = new HeapAndMap(JOBS)
  const pushSecs = secondsOf(() => {
    for (const [i, id] of ids.entries()) queue.push(id, scores[i] as number)
  })
  let last = 0
  const popSecs = secondsOf(() => {
    for (const id of ids) {
      const score = queue.pop(id)
      if (score < last) throw new Error('the yardstick is out of order')
      last = score
    }
  })
  return { pushes: JOBS / pushSecs, pops: JOBS / popSecs }
}
