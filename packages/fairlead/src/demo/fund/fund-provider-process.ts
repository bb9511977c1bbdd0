// A provider of the demo of the fund in a process of its own. What it is comes in a line on standard input; when that
// ends, whoever started it is gone, and so it goes as well.

import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { type Job, NodeClient, type Payloads } from '@fairlead/client'
import { aiDemand, quantumDemand } from '@fairlead/core'
import { readChain } from '../../attest/read-certificates.ts'
import { escaped } from '../../terminal/escaped.ts'
import { answerTo } from '../live-work.ts'
import { type FundProvider, HARDWARE, TRAP_SHOTS, TRAPS_PASSED } from './cast.ts'

/** What a process of the demo is told. */
export interface FundOrders {
  readonly url: string
  readonly token: string
  readonly provider: FundProvider
  readonly keyFile: string
  readonly chainFile: string
  /** Longer than the proof timeout. */
  readonly lateMs: number
}

const CONCURRENCY = 4

const lines = createInterface({ input: process.stdin })
lines.once('line', (line) => serve(JSON.parse(line) as FundOrders))
lines.once('close', () => process.exit(0))

/** Sends every n-th proof too late. */
class LateClient extends NodeClient {
  readonly #every: number
  readonly #lateMs: number
  #proofs = 0

  constructor({ url, token, provider, lateMs }: FundOrders) {
    super(url, { token })
    this.#every = provider.provesLateEvery ?? Number.POSITIVE_INFINITY
    this.#lateMs = lateMs
  }

  override async call(...asked: Parameters<NodeClient['call']>): Promise<never> {
    const isLate = asked[0] === 'aicf.submitProof' && ++this.#proofs % this.#every === 0
    if (isLate) await delay(this.#lateMs)
    return (await super.call(...asked)) as never
  }
}

function serve(orders: FundOrders): void {
  const { provider, keyFile, chainFile } = orders
  const { name, kind, unitMs, failsTrapsEvery = Number.POSITIVE_INFINITY } = provider
  const [shortest, longest] = unitMs
  let turn = 0
  const worker = new LateClient(orders).worker({
    providerId: `provider:${name}`,
    workerId: `${name}-1`,
    kinds: [kind],
    models: ['*'],
    concurrency: CONCURRENCY,
    prover: {
      keyFile,
      attestation: { class: HARDWARE, chain: () => readChain([chainFile]) },
    },
    handler: async (job) => {
      const isBad = ++turn % failsTrapsEvery === 0
      const pace = shortest + Math.random() * (longest - shortest)
      await delay(unitsOf(job) * pace, null, { signal: job.signal })
      if (job.kind === 'quantum') {
        const passed = isBad ? TRAPS_PASSED.badly : TRAPS_PASSED.well
        job.prove({ traps: { shots: TRAP_SHOTS, passed } })
      }
      return answerTo(job)
    },
    // The demo tells what the server says of it.
    onError: () => {},
    onNotice: () => {},
  })
  worker.closed.then(
    () => process.exit(0),
    (error: Error) => {
      process.stderr.write(`provider ${name}: ${escaped(error.message)}\n`)
      process.exit(1)
    },
  )
}

function unitsOf({ kind, payload }: Job): number {
  if (kind === 'ai') return aiDemand('', (payload as Payloads['ai']).max_tokens).units
  const { shots, depth_hint } = payload as Payloads['quantum']
  return quantumDemand(shots, depth_hint).units
}
