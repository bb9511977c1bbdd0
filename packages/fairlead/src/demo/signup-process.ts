// The signup worker of the demo in a process of its own, over WebSocket. Its orders come in a line on standard
// input; when that ends, whoever started it is gone, and so it goes as well.

import { createInterface } from 'node:readline'
import { connect } from '@fairlead/client'
import { readProviders, signupWorker } from '@fairlead/signup'
import { escaped } from '../terminal/escaped.ts'

interface Orders {
  readonly url: string
  readonly token: string
  /** The file of booking sites. */
  readonly providers: string
}

const lines = createInterface({ input: process.stdin })
lines.once('line', (line) => serve(JSON.parse(line) as Orders))
lines.once('close', () => process.exit(0))

function serve({ url, token, providers }: Orders): void {
  const worker = signupWorker({
    source: connect(url, { token }).leaseSource(),
    providerId: 'provider:signup',
    providers: readProviders(providers, { env: {}, folder: '.' }),
  })
  worker.closed.catch((error: Error) => {
    process.stderr.write(`signup: ${escaped(error.message)}\n`)
    process.exit(1)
  })
}
