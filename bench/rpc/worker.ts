/**
 * One worker of the bench, in a process of its own, over the SDK. `node worker.js URL NAME SLOTS` tells its
 * parent how many jobs are done, and of each that has begun when that was.
 */
import { WireLeaseSource, worker } from '@fairlead/client'
import type { LeaseSource } from '@fairlead/core'
import { numberOf } from '../queue/payload.ts'

export interface WorkerReport {
  /** Completions that were answered since the last report. */
  readonly completed: number
  /** Jobs that have begun since then: number, and time on the machine's clock. */
  readonly started: readonly (readonly [n: number, atMs: number])[]
}

const TELL_MS = 20
const [url = '', name = '', slots = '1'] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))

let completed = 0
let started: [number, number][] = []

worker({
  source: counted(new WireLeaseSource({ url: `${url.replace('http', 'ws')}/ws` })),
  providerId: `provider:bench-${name}`,
  kinds: ['ai'],
  concurrency: Number(slots),
  handler: ({ payload }) => {
    started.push([numberOf(Buffer.from(payload.prompt).toString()), nowMs()])
  },
  onError: (error) => {
    throw error
  },
})

setInterval(() => {
  if (completed === 0 && started.length === 0) return
  const report: WorkerReport = { completed, started }
  process.send?.(report)
  completed = 0
  started = []
}, TELL_MS)

/** Counts a completion when its answer is there, and so when it is durable. */
function counted(source: LeaseSource): LeaseSource {
  return {
    async open(hello, listener) {
      const session = await source.open(hello, listener)
      process.send?.({ completed: 0, started: [] } satisfies WorkerReport)
      const complete = session.complete.bind(session)
      session.complete = async (leaseId, result) => {
        await complete(leaseId, result)
        completed++
      }
      return session
    },
  }
}

/** The same clock in all processes of a machine. */
function nowMs(): number {
  return performance.timeOrigin + performance.now()
}
