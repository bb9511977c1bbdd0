import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type EpochClose, type PackedClose, unpackClose } from '@fairlead/core/internal'
import type { ToWorker } from './close-worker.ts'
import { BenchEpoch } from './epoch.ts'
import { type Held, LoopHold } from './loop-hold.ts'

/** So many claim lines at a time hold the loop for some 2 ms. */
const SLICE = 2_000

/** The longest time for which the caller's loop was held, and the time of the whole close. */
export interface Elsewhere {
  readonly held: Held
  readonly seconds: number
}

/** Closes epochs in another thread, as an engine does that goes on with its work meanwhile. */
export class CloseElsewhere {
  readonly #worker = new Worker(new URL('close-worker.js', import.meta.url))

  /** The lines go in slices, and the result comes back packed in buffers that change hands. */
  packed(): Promise<Elsewhere> {
    return this.#measured(async (epoch) => {
      const input = epoch.freeze()
      for (let at = 0; at < input.lines.length; at += SLICE) {
        this.#send({ type: 'lines', lines: input.lines.slice(at, at + SLICE) })
        await turn()
      }
      this.#send({ type: 'close', input: { ...input, lines: [] }, isWhole: false })
      const packed = await this.#answer<PackedClose>()
      await turn()
      const close = unpackClose(input, packed)
      await turn()
      return close
    })
  }

  /** Input and result as they are, each as one message. */
  cloned(): Promise<Elsewhere> {
    return this.#measured(async (epoch) => {
      this.#send({ type: 'close', input: epoch.freeze(), isWhole: true })
      return this.#answer<EpochClose>()
    })
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  async #measured(close: (epoch: BenchEpoch) => Promise<EpochClose>): Promise<Elsewhere> {
    const epoch = new BenchEpoch()
    // Making the claims leaves garbage that is not part of a close.
    globalThis.gc?.()
    await turn()
    const hold = new LoopHold()
    const started = performance.now()
    epoch.epochs.apply(await close(epoch), epoch.ledger)
    const seconds = (performance.now() - started) / 1_000
    return { held: hold.stop(), seconds }
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  async #answer<Answer>(): Promise<Answer> {
    const [answer] = (await once(this.#worker, 'message')) as [Answer]
    return answer
  }
}
