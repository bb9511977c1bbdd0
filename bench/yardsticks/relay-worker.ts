/**
 * A worker of the relay, in a process of its own: it answers each message with one as long, and
 * counts it when the relay has synced that. `node relay-worker.js URL` reports as `rpc/worker.ts` does.
 */
import { numberOf, type Payload } from '../queue/payload.ts'
import { Reports } from '../rpc/reports.ts'
import { RelayClient, WORKER_PATH } from './relay-client.ts'

const [url = ''] = process.argv.slice(2)
process.on('disconnect', () => process.exit(0))

const reports = new Reports()
const client = await RelayClient.open(`${url}${WORKER_PATH}`, (text) => {
  reports.started(numberOf((JSON.parse(text) as Payload).prompt))
  void client.send(text).then(() => reports.completed())
})
reports.connected()
