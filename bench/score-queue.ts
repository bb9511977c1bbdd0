import { aiDemand, type Job, parsePolicy } from '@fairlead/core'
import { newJob, WaitingQueue } from '@fairlead/core/internal'
import { heapBytes, type Report, repeat, secondsOf } from './bench.ts'
import { callerNumber, jobIdNumber, numbers } from './fixtures.ts'

export const name = 'score-queue'
export const question = 'How fast do a million jobs go into the score queue and come out in order?'

const JOBS = 1_000_000
const START = 1_760_000_000_000
const POLICY = parsePolicy({ match: { fairness: 'score' } })

export function run(report: Report): void {
  const bytes: number[] = []
  const pushes: number[] = []
  const pops = repeat(report, `${JOBS.toLocaleString('en')} jobs`, () => {
    const figures = onePass()
    bytes.push(figures.bytes)
    pushes.push(figures.pushes)
    return figures.pops
  })
  const of = (values: number[], unit: string, what: string): number =>
    report.measured({ case: what, subject: 'fairlead', unit, values: values.slice(-pops.length) })
  const pushRate = of(pushes, 'jobs/s', 'push')
  const popRate = of(pops, 'jobs/s', 'pop best')
  const perJob = of(bytes, 'bytes/job', 'heap beside the id')
  report.bar({ bar: 'pushes per second', reached: pushRate, atLeast: 300_000 })
  report.bar({ bar: 'pops per second', reached: popRate, atLeast: 300_000 })
  report.bar({ bar: 'bytes of heap a job beside the id', reached: perJob, atMost: 200 })
}

function onePass(): { pushes: number; pops: number; bytes: number } {
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
