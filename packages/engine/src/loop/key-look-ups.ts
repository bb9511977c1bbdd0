import type { FairleadError } from '@fairlead/core'
import type { EnqueueRequest } from '../commands/command.ts'
import { type LookUps, unanswered } from '../commands/look-ups.ts'
import { type Call, settle } from './call.ts'

/**
 * Enqueues that wait for the tables to tell if their keys are known or how their dependencies ended, and those behind
 * them (KEYS-3). One look-up at a time
 * asks for all that wait. Every other command goes on.
 */
export class KeyLookUps {
  readonly #lookUps: LookUps
  readonly #answered: (calls: Call[]) => void
  #waiting: Call[] = []
  #pending: Promise<void> | null = null
  /** The number of calls that were answered and are not taken yet. */
  #untaken = 0

  /** `answered` puts calls before all others of the queue. */
  constructor(lookUps: LookUps, answered: (calls: Call[]) => void) {
    this.#lookUps = lookUps
    this.#answered = answered
  }

  get isBusy(): boolean {
    return this.#pending !== null || this.#waiting.length > 0
  }

  /** The number of calls at the start of the queue that have to go into one turn, so that none of them repeats another. */
  takeAnswered(): number {
    const count = this.#untaken
    this.#untaken = 0
    return count
  }

  /** Keeps an enqueue that has to wait; false for all other calls. */
  holds(call: Call): boolean {
    const { command, isLookedUp } = call
    if (command.type !== 'enqueue') return false
    // After the look-up a dependency may have ended, or memory may have forgotten a key that was not asked for.
    const isBehind = !isLookedUp && (this.isBusy || this.#untaken > 0)
    const mustWait = isBehind || this.#lookUps.mustAsk(command)
    if (mustWait) this.#waiting.push(call)
    return mustWait
  }

  /** Asks for the calls that wait, unless others are asked for. */
  start(): void {
    if (this.#waiting.length === 0 || this.#pending !== null || this.#untaken > 0) return
    const calls = this.#waiting
    this.#waiting = []
    this.#pending = this.#askFor(calls).then(() => {
      this.#pending = null
      this.#untaken = calls.length
      const behind = this.#waiting
      this.#waiting = []
      this.#answered(calls.concat(behind))
    })
  }

  /** Resolves when the look-up under way has ended. */
  async rest(): Promise<void> {
    await this.#pending
  }

  /** Removes and returns the calls that no look-up has begun for. */
  discard(): Call[] {
    const calls = this.#waiting
    this.#waiting = []
    return calls
  }

  async #askFor(calls: readonly Call[]): Promise<void> {
    const requests = calls.map(({ command }) => command as EnqueueRequest)
    const asked = requests.map((request) => this.#lookUps.mustAsk(request))
    let told: readonly (EnqueueRequest | FairleadError)[]
    try {
      told = await this.#lookUps.earlierJobs(requests)
    } catch (cause) {
      const refusal = unanswered(cause)
      told = requests.map((request, i) => (asked[i] === true ? refusal : request))
    }
    settle(calls, told)
    for (const [i, call] of calls.entries()) call.isLookedUp = asked[i] === true
  }
}
