import { createPublicKey, verify } from 'node:crypto'
import { checkProof, closeEpoch } from '@fairlead/core/internal'
import { type Options, type Report, secondsOf } from './bench.ts'
import { inTurns, medianRatio } from './in-turns.ts'
import { chosen } from './queue/chosen.ts'
import { closeInEngine, type EngineClose } from './settle/engine-close.ts'
import { BenchEpoch, type BenchProof, CLAIMS, proofs } from './settle/epoch.ts'
import { bareRoots } from './yardsticks/bare-roots.ts'

export const name = 'settle'
export const question =
  'How long does the close of 100,000 claims take, how long does it hold a loop, and what does a proof cost?'

const PROOFS = 2_000

export async function run(report: Report, options: Options): Promise<void> {
  for (const one of chosen(options.only, ['close', 'engine', 'proof'] as const, 'case')) {
    await CASES[one](report, options)
  }
}

const CASES = {
  /** Freeze, close and apply, all in this thread, as a replica does that replays it. */
  async close(report: Report, { repeats }: Options): Promise<void> {
    const { fairlead, yardstick } = await inTurns(report, {
      what: 'close',
      measures: { fairlead: closeHere, yardstick: () => bareRoots(CLAIMS) },
      ...(repeats === undefined ? {} : { repeats }),
    })
    const what = `close of ${CLAIMS.toLocaleString('en')} claims`
    const of = (subject: string, values: number[]) =>
      report.measured({ case: what, subject, unit: 's', values })
    of('yardstick', yardstick)
    const seconds = of('fairlead', fairlead)
    const reached = medianRatio(fairlead, yardstick)
    report.bar({ bar: 'time of a close, to bare SHA3 of its lines', reached, atMost: 2.2 })
    report.bar({ bar: 'seconds of a close', reached: seconds, atMost: 3 })
  },

  /** An engine on a file closes the epoch by itself, with the batch computed in a thread of its own. */
  async engine(report: Report, { repeats = 3 }: Options): Promise<void> {
    const runs: EngineClose[] = []
    for (let i = 0; i < repeats; i++) runs.push(await closeInEngine())
    const of = (what: string, unit: string, values: number[]): number =>
      report.measured({ case: what, subject: 'engine', unit, values })
    const seconds = of(
      'end of the epoch to its batch',
      's',
      runs.map((one) => one.seconds),
    )
    of(
      'loop held at most',
      'ms',
      runs.map(({ held }) => held.wallMs),
    )
    const reached = of(
      'the same on the processor',
      'ms',
      runs.map(({ held }) => held.cpuMs),
    )
    report.bar({
      bar: 'seconds from the end of an epoch to its batch',
      reached: seconds,
      atMost: 3,
    })
    report.bar({ bar: 'ms on the processor between two turns', reached, atMost: 50 })
  },

  async proof(report: Report, { repeats }: Options): Promise<void> {
    const all = proofs(PROOFS)
    const keys = all.map(({ publicKey }) => keyObject(publicKey))
    const { fairlead, yardstick } = await inTurns(report, {
      what: 'proofs',
      measures: {
        fairlead: () => PROOFS / secondsOf(() => all.forEach(checked)),
        yardstick: () =>
          PROOFS /
          secondsOf(() => {
            for (const [i, { message, signature }] of all.entries()) {
              const isGood = verify(
                null,
                message,
                keys[i] as ReturnType<typeof keyObject>,
                signature,
              )
              if (!isGood) throw new Error('a good signature did not hold')
            }
          }),
      },
      ...(repeats === undefined ? {} : { repeats }),
    })
    const of = (subject: string, values: number[]) =>
      report.measured({ case: 'proofs checked', subject, unit: 'proofs/s', values })
    of('fairlead', fairlead)
    of('yardstick', yardstick)
    const reached = medianRatio(yardstick, fairlead)
    report.bar({ bar: 'time of a proof check, to bare Ed25519', reached, atMost: 1.3 })
  },
}

function closeHere(): number {
  const epoch = new BenchEpoch()
  return secondsOf(() => epoch.epochs.apply(closeEpoch(epoch.freeze()), epoch.ledger))
}

function checked({ envelope, context }: BenchProof): void {
  const { error } = checkProof(envelope, context)
  if (error !== null) throw error
}

const SPKI_FRAME = Buffer.from('302a300506032b6570032100', 'hex')

function keyObject(publicKey: Uint8Array) {
  const der = Buffer.concat([SPKI_FRAME, publicKey])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}
