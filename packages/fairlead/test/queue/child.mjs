// A program with a queue: child.mjs <target> <concurrency> <handler ms> [options as JSON]. It writes a line when a handler
// begins and when it has ended. The job HOLDS lasts until somebody ends it.
import { setTimeout as delay } from 'node:timers/promises'
import { openQueue } from 'fairlead'

const [target, concurrency, ms, options = '{}'] = process.argv.slice(2)
const queue = await openQueue(target, { onError: () => {}, ...JSON.parse(options) })
queue.work(
  'step',
  async ({ n }, job) => {
    console.log(`begin ${n}`)
    await delay(process.env.HOLDS === String(n) ? 600_000 : Number(ms), null, {
      signal: job.signal,
    }).catch(() => {
      console.log(`abort ${n}`)
      throw job.signal.reason
    })
    console.log(`end ${n}`)
    return n * n
  },
  { concurrency: Number(concurrency) },
)
console.log('ready')
