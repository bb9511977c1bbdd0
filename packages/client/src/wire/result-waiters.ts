import type { WireEvent } from '@fairlead/protocol'
import { retryDelayMs } from '../retry-delay.ts'
import type { Subscription } from './subscription.ts'

/** What may make an answer of "not yet" another one. */
const NEWS = ['proofAccepted', 'jobCompleted', 'jobFailed', 'jobExpired', 'jobCanceled'] as const

interface Parts {
  /** Listens to what brings results. */
  readonly subscribe: (topics: typeof NEWS) => Subscription
}

/**
 * Those who wait for the result of a job, all on one subscription. Where the server does not let us
 * listen, or forgets what we missed, each asks from time to time instead.
 */
export class ResultWaiters {
  readonly #parts: Parts
  readonly #waiting = new Map<string, Set<() => void>>()
  #subscription: Subscription | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Calls until there is something else than "not yet": at once, and then whenever the job may have
   * one. `isNotYet` tells by the error.
   */
  async until<T>(
    taskId: string,
    attempt: () => Promise<T>,
    isNotYet: (error: unknown) => boolean,
    signal: AbortSignal,
  ): Promise<T> {
    let notify: () => void = () => {}
    const set = this.#waiting.get(taskId) ?? new Set()
    const listener = (): void => notify()
    set.add(listener)
    this.#waiting.set(taskId, set)
    try {
      // Listens before it asks: what ends in between is heard of.
      let isListening = false
      const listening = this.#listen().then((isSo) => {
        isListening = isSo
      })
      await until(listening, null, signal)
      for (let tries = 0; ; tries++) {
        signal.throwIfAborted()
        const heard = new Promise<void>((resolve) => {
          notify = resolve
        })
        try {
          return await attempt()
        } catch (error) {
          if (!isNotYet(error)) throw error
        }
        await until(heard, isListening ? null : retryDelayMs(tries, Math.random), signal)
        isListening = this.#subscription !== null
      }
    } finally {
      set.delete(listener)
      if (set.size === 0) this.#waiting.delete(taskId)
      if (this.#waiting.size === 0) this.close()
    }
  }

  close(): void {
    void this.#subscription?.return()
    this.#subscription = null
  }

  async #listen(): Promise<boolean> {
    if (this.#subscription === null) {
      this.#subscription = this.#parts.subscribe(NEWS)
      void this.#hear(this.#subscription)
    }
    const subscription = this.#subscription
    try {
      await subscription.ready()
      return true
    } catch {
      return false
    }
  }

  async #hear(subscription: Subscription): Promise<void> {
    try {
      for await (const event of subscription) {
        const { jobId } = event as WireEvent & { readonly jobId: string }
        for (const listener of this.#waiting.get(jobId) ?? []) listener()
      }
    } catch {
      // Whoever waits goes on by asking.
    }
    if (this.#subscription !== subscription) return
    this.#subscription = null
    for (const listeners of this.#waiting.values()) for (const listener of listeners) listener()
  }
}

/** Until something was heard, or a time is over; rejected at the end of patience. */
async function until(heard: Promise<void>, ms: number | null, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let abort = (): void => {}
  const ends = new Promise<void>((resolve, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (ms !== null) timer = setTimeout(resolve, ms)
  })
  try {
    await Promise.race([heard, ends])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
