// A worker in a process of its own, whose server is killed under it. It says on standard output what was
// answered: `C job` for a completion, and `R job` if a lease outlived its connection.
import { setTimeout as delay } from 'node:timers/promises'
import { WireLeaseSource, worker } from '@fairlead/client'

const [url, workerId] = process.argv.slice(2)
const say = (line) => process.stdout.write(`${line}\n`)
/** The session in which each lease was acked. */
const ackedIn = new Map()
let session = 0

const wire = new WireLeaseSource({ url: `${url.replace('http', 'ws')}/ws` })
const source = {
  async open(hello, listener) {
    const opened = await wire.open(hello, listener)
    const number = ++session
    const { ack, complete } = opened
    opened.ack = async (leaseId) => {
      await ack.call(opened, leaseId)
      ackedIn.set(leaseId, number)
    }
    opened.complete = async (leaseId, result) => {
      await complete.call(opened, leaseId, result)
      const jobId = Buffer.from(result.output).toString()
      say(`C ${jobId}`)
      if (ackedIn.get(leaseId) !== number) say(`R ${jobId}`)
      ackedIn.delete(leaseId)
    }
    return opened
  },
}

const serving = worker({
  source,
  providerId: 'provider:crash',
  workerId,
  kinds: ['task'],
  concurrency: 8,
  handler: async ({ jobId }) => {
    await delay(Math.random() * 20)
    return jobId
  },
  onError: () => {},
})
process.once('SIGTERM', () => void serving.stop().then(() => process.exit(0)))
process.stdin.resume()
