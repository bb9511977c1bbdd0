// A provider of the demo in a process of its own. What it is comes in a line on standard input; when that
// ends, whoever started it is gone, and so it goes as well.

import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@fairlead/client'
import { escaped } from '../terminal/escaped.ts'
import type { LiveProvider } from './live-cast.ts'
import { answerTo } from './live-work.ts'

interface Orders {
  readonly url: string
  readonly token: string
  readonly provider: LiveProvider
}

const lines = createInterface({ input: process.stdin })
lines.once('line', (line) => serve(JSON.parse(line) as Orders))
lines.once('close', () => process.exit(0))

function serve({ url, token, provider }: Orders): void {
  const { name, kinds, models, slots, workMs } = provider
  const [shortest, longest] = workMs
  let offered = 0
  let begun = 0
  const isTurn = (count: number, every: number | undefined): boolean =>
    every !== undefined && count % every === 0
  const worker = connect(url, { token }).worker({
    providerId: `provider:${name}`,
    // The same after a crash, so that what it had is given to others at once.
    workerId: `${name}-1`,
    kinds,
    models,
    concurrency: slots,
    accepts: () => !isTurn(++offered, provider.declinesEvery),
    handler: async (job) => {
      const turn = ++begun
      await delay(shortest + Math.random() * (longest - shortest), null, { signal: job.signal })
      // With leases in hand and without a word, as a crash is.
      if (isTurn(turn, provider.crashesEvery)) process.kill(process.pid, 'SIGKILL')
      if (isTurn(turn, provider.failsEvery))
        throw Object.assign(new Error(), { code: 'overheated' })
      return answerTo(job)
    },
    // The demo counts failures by what the server says of them.
    onError: () => {},
  })
  worker.closed.then(
    () => process.exit(0),
    (error: Error) => {
      process.stderr.write(`provider ${name}: ${escaped(error.message)}\n`)
      process.exit(1)
    },
  )
}
