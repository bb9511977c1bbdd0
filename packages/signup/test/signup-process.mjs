// A signup worker in a process of its own. On stdout a line of JSON for each call that is about to go out
// and for each attempt that has ended.
import { WireLeaseSource } from '@fairlead/client'
import { readProviders, signupWorker } from '@fairlead/signup'

const [url, text] = process.argv.slice(2)
const providers = readProviders(text, { env: process.env, folder: '.' })
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

const telling = (adapter) => ({
  request: (job, holdId) => {
    say({ type: 'sending', jobId: job.jobId })
    return adapter.request(job, holdId)
  },
  outcome: (answer) => adapter.outcome(answer),
  ...(adapter.lookup === undefined ? {} : { lookup: adapter.lookup }),
})

signupWorker({
  source: new WireLeaseSource({ url }),
  providerId: 'provider:signup',
  providers,
  adapters: Object.fromEntries(
    providers.platforms.map((name) => [name, telling(providers.get(name).adapter)]),
  ),
  concurrency: 16,
  onEvent: say,
  onError: () => {},
})
// A machine that is busy with other things may stop a process between two lines of code. What was to be
// sent in such a time went out nobody knows when.
let awakeAt = Date.now()
setInterval(() => {
  const now = Date.now()
  if (now - awakeAt > 20) say({ type: 'stalled', from: awakeAt, to: now })
  awakeAt = now
}, 5)
// Whoever started it has gone.
process.stdin.on('end', () => process.exit(0)).resume()
