/**
 * One worker of the bench, in a process of its own, over the SDK. `node worker.js URL NAME SLOTS` tells its
 * parent how many jobs are done, and of each that has begun when that was.
 */
import { WireLeaseSource, worker } from '@fairlead/client'
import type { LeaseSource } from '@fairlead/core'
import { numberOf } from '../queue/payload.ts'
import { Reports } from './reports.ts'

const [url = '', name = '', slots = '1'] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))

const reports = new Reports()

worker({
  source: counted(new WireLeaseSource({ url: `${url.replace('http', 'ws')}/ws` })),
  providerId: `provider:bench-${name}`,
  kinds: ['ai'],
  concurrency: Number(slots),
  handler: ({ payload }) => reports.started(numberOf(Buffer.from(payload.prompt).toString())),
  onError: (error) => {
    throw error
  },
})

/** Counts a completion when its answer is there, and so when it is durable. */
function counted(source: LeaseSource): LeaseSource {
  return {
    async open(hello, listener) {
      const session = await source.open(hello, listener)
      reports.connected()
      const complete = session.complete.bind(session)
      session.complete = async (leaseId, result) => {
        await complete(leaseId, result)
        reports.completed()
      }
      return session
    },
  }
}
