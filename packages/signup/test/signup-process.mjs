// A signup worker in a process of its own. On stdout a line of JSON for each call that is about to go out
// and for each attempt that has ended.
//
//     node signup-process.mjs URL PROVIDERS [OPTIONS]
//
// OPTIONS, as JSON: `providerId` and the `platforms` that it serves, all where they are left out; `diesAt`, the step
// at which it kills itself with SIGKILL, so that nothing of it is left but what has gone out by then; `charges`, a
// file that each charge of a fee writes its key into.
import { appendFileSync } from 'node:fs'
import { WireLeaseSource } from '@fairlead/client'
import { readProviders, signupWorker } from '@fairlead/signup'

const [url, text, written = '{}'] = process.argv.slice(2)
const options = JSON.parse(written)
const { providerId = 'provider:signup', diesAt = null, charges = null } = options
const providers = readProviders(text, { env: process.env, folder: '.' })
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const reach = (step) => {
  if (step === diesAt) process.kill(process.pid, 'SIGKILL')
}

const telling = ({ request, outcome, hold, lookup }) => ({
  request: (job, holdId) => {
    say({ type: 'sending', jobId: job.jobId })
    return request(job, holdId)
  },
  outcome: (answer) => {
    reach('answered')
    return outcome(answer)
  },
  ...(hold && {
    hold: {
      ...hold,
      outcome: (answer) => {
        reach('held')
        return hold.outcome(answer)
      },
    },
  }),
  ...(lookup && { lookup }),
})

const bound = (adapter) => ({
  request: adapter.request.bind(adapter),
  outcome: adapter.outcome.bind(adapter),
  hold: adapter.hold,
  lookup: adapter.lookup,
})

const charge = async ({ idempotencyKey }) => {
  appendFileSync(charges, `${idempotencyKey}\n`)
  reach('charged')
}

const all = options.platforms ?? providers.platforms
signupWorker({
  source: new WireLeaseSource({ url }),
  providerId,
  // Budgets, profiles and time-outs; whatever is not served has no adapter here.
  providers: { ...providers, platforms: all },
  adapters: Object.fromEntries(
    all.map((name) => [name, telling(bound(providers.get(name).adapter))]),
  ),
  concurrency: 16,
  ...(charges === null ? {} : { charge }),
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
