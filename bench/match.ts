import {
  aiDemand,
  type Caller,
  leaseId,
  newProvider,
  type Policy,
  parsePolicy,
  type Seed,
  taggedHashHex,
} from '@fairlead/core'
import {
  matchRound,
  newJob,
  ProviderPool,
  RequesterWindows,
  WaitingQueue,
} from '@fairlead/core/internal'
import { type Report, secondsOf } from './bench.ts'
import { callerNumber, jobIdNumber, numbers, providerNumber } from './fixtures.ts'
import { inTurns, medianRatio } from './in-turns.ts'
import { HeapAndMap } from './yardsticks/heap-and-map.ts'
import { sha3 } from './yardsticks/sha3.ts'

export const name = 'match'
export const question =
  'How many jobs a second do rounds of 256 assign, and does it hold for many providers?'

const JOBS = 100_000
const SLOTS = 16
const NOW = 1_760_000_000_000
const CASES = [
  { fairness: 'score', callers: 1, atLeast: 0.6 },
  { fairness: 'tenant', callers: 1, atLeast: 0.55 },
  { fairness: 'tenant', callers: 1_000, atLeast: 0.3 },
] as const

export async function run(report: Report): Promise<void> {
  for (const { fairness, callers, atLeast } of CASES) {
    const policy = parsePolicy({
      match: { fairness },
      queue: { quotas: { leases_max_per_provider: SLOTS } },
    })
    const what = `${fairness} order, ${callers === 1 ? '1 caller' : `${callers} callers`}`
    const { few, yardstick, many } = await inTurns(report, {
      what,
      measures: {
        few: () => assignAll(policy, 100, callers),
        yardstick: popAndHash,
        many: () => assignAll(policy, 10_000, callers),
      },
    })
    const unit = 'assignments/s'
    report.measured({ case: `${what}, 10,000 providers`, subject: 'fairlead', unit, values: many })
    report.measured({ case: `${what}, 100 providers`, subject: 'fairlead', unit, values: few })
    report.measured({ case: 'pop and hash', subject: 'yardstick', unit, values: yardstick })
    const reached = medianRatio(many, yardstick)
    report.bar({ bar: `${what}: assignments, to pop and hash`, reached, atLeast })
    report.bar({
      bar: `${what}: time per job at 10,000 providers against 100`,
      reached: medianRatio(few, many),
      atMost: 1.5,
    })
  }
}

/**
 * The least that an assignment takes: the first job leaves an order and an index, and its lease gets
 * an id, which here is bare SHA3 of a job id and a provider's.
 */
function popAndHash(): number {
  const ids = Array.from({ length: JOBS }, (_, i) => jobIdNumber(i))
  const random = numbers(3)
  const queue = new HeapAndMap(JOBS)
  for (const id of ids) queue.push(id, random(1_000_000))
  const provider = providerNumber(1)
  let bytes = 0
  const seconds = secondsOf(() => {
    for (const id of ids) {
      queue.pop(id)
      bytes += sha3(Buffer.from(`${id}${provider}`)).length
    }
  })
  if (bytes !== 32 * JOBS) throw new Error('a hash was not made')
  return JOBS / seconds
}

/**
 * Rounds until nothing waits, with lease ids. A provider's leases count up over the rounds, as if
 * nothing ended, and are all given back when the market is full: a hundred providers hold only 1,600.
 */
function assignAll(policy: Policy, providers: number, callers: number): number {
  const pool = new ProviderPool(policy)
  for (let i = 0; i < providers; i++) {
    const offer = { capabilities: new Set(['ai'] as const), models: new Set(['llama3-8b']) }
    pool.add(newProvider({ id: providerNumber(i), lastHeartbeat: NOW, offer }))
  }
  const queue = waitingJobs(policy, callers)
  const queues = new Map([['ai', queue] as const])
  const windows = new RequesterWindows()
  let assigned = 0
  const seconds = secondsOf(() => {
    for (let round = 0; assigned < JOBS; round++) {
      const seed = taggedHashHex('bench', round) as Seed
      const [ai] = matchRound({ nowMs: NOW, seed, policy, queues, pool, windows })
      const made = ai?.assignments ?? []
      for (const { job, provider } of made) {
        provider.liveLeases++
        leaseId({ jobId: job.id, providerId: provider.id, attempt: 0, seed })
      }
      assigned += made.length
      if (made.length < policy.queue.batchSize) for (const p of pool.all()) p.liveLeases = 0
    }
  })
  return JOBS / seconds
}

function waitingJobs(policy: Policy, callers: number): WaitingQueue {
  const queue = new WaitingQueue(policy, NOW)
  const random = numbers(3)
  const names: Caller[] = Array.from({ length: callers }, (_, i) => callerNumber(i))
  const demand = aiDemand('llama3-8b', 256)
  for (let i = 0; i < JOBS; i++) {
    const request = {
      id: jobIdNumber(i),
      kind: 'ai' as const,
      caller: names[i % callers] as Caller,
      tier: 'FREE',
      fee: BigInt(random(1_000_000)),
      sizeBytes: 1_000,
      demand,
      regions: null,
      ttlAbsSecs: null,
      enqueueSeq: i,
    }
    queue.push(newJob(request, NOW - 60_000 + Math.floor(i / 10)))
  }
  return queue
}
