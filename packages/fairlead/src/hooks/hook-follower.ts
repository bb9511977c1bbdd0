import { FairleadError } from '@fairlead/core'
import { webhookTask } from '@fairlead/core/internal'
import type { Engine } from '@fairlead/engine'
import type { EventEntry, EventHub, Logger } from '@fairlead/server'
import { deliveryRequest, HOOK_CALLER, type Hook, hasEvent, isWanted } from './delivery.ts'
import type { JobFactsDesk } from './job-facts.ts'

/** Deliveries of one webhook that wait or run at a time. Beyond, its events wait in the journal. */
const DELIVERIES_MAX = 1_000
/** Events without a delivery after which the place is noted all the same. */
const UNNOTED_MAX = 1_000
const LIVE = ['QUEUED', 'ASSIGNED', 'RUNNING'] as const

/** How long a follower waits when the engine refuses. */
export const RETRY_MS = 1_000
/** So many times as long while the queue, or its own deliveries, have no room. */
const FULL_WAITS = 10

interface Parts {
  readonly hook: Hook
  readonly engine: Engine
  readonly hub: EventHub
  readonly jobs: JobFactsDesk
  readonly logger: Logger
  readonly retryMs: number
}

/**
 * Makes a delivery job of each event that a webhook asks for. It reads the journal by number, enqueues, and only then
 * notes how far it has come. A crash in between repeats some enqueues, whose keys make one job of them (HOOK-4).
 */
export class HookFollower {
  readonly #parts: Parts
  readonly #name: string
  /** Events up to this one have been looked at. */
  #seq: number
  #noted: number
  /** Deliveries that may be enqueued before the live ones are counted again. */
  #room = 0
  #isOpen = true
  #endWait: () => void = () => {}
  readonly #done: Promise<void>

  /** `seq` is the noted place. */
  constructor(parts: Parts, seq: number) {
    this.#parts = parts
    this.#name = webhookTask(parts.hook.id)
    this.#seq = seq
    this.#noted = seq
    this.#done = this.#run()
  }

  /** Resolves when it enqueues nothing any more. The hub has to be closed before, so that it waits for no event. */
  async close(): Promise<void> {
    this.#isOpen = false
    this.#endWait()
    await this.#done
  }

  async #run(): Promise<void> {
    const { hub, hook, logger, retryMs } = this.#parts
    let isTold = false
    while (this.#isOpen) {
      try {
        const page = await hub.after(this.#seq)
        if (page.length === 0) {
          if (this.#isOpen) await hub.next()
          continue
        }
        await this.#follow(page)
        isTold = false
      } catch (err) {
        if (!this.#isOpen) return
        // Once, not for each try.
        if (!isTold) logger.warn({ err, hook: hook.id }, 'events of a webhook wait')
        isTold = true
        // Deliveries end slowly, and to count them costs something.
        const isFull = err instanceof FairleadError && err.code === 'QueueOverCapacity'
        await this.#wait(isFull ? FULL_WAITS * retryMs : retryMs)
      }
    }
  }

  async #follow(page: readonly EventEntry[]): Promise<void> {
    const { hook, engine, jobs } = this.#parts
    const requests: Readonly<Record<string, unknown>>[] = []
    for (const { event } of page) {
      if (!hasEvent(hook, event.type)) continue
      const job = await jobs.of(event)
      if (isWanted(hook, event, job)) requests.push(deliveryRequest(hook, event, job))
    }
    if (requests.length > 0) await this.#enqueue(requests)
    this.#seq = page.at(-1)?.event.seq ?? this.#seq
    if (requests.length === 0 && this.#seq - this.#noted < UNNOTED_MAX) return
    await engine.followers.reached(this.#name, this.#seq)
    this.#noted = this.#seq
  }

  async #enqueue(requests: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    const { engine, hook, logger } = this.#parts
    if (this.#room < requests.length) this.#room = DELIVERIES_MAX - (await this.#live())
    if (this.#room < requests.length) {
      const text = `${DELIVERIES_MAX} deliveries of webhook ${hook.id} wait; its events wait until some have ended`
      throw new FairleadError('QueueOverCapacity', text, { hook: hook.id })
    }
    const answers = await engine.enqueueMany(requests, { caller: HOOK_CALLER })
    this.#room -= requests.length
    for (const answer of answers) {
      if (answer.status === 'fulfilled') continue
      const reason: unknown = answer.reason
      if (!(reason instanceof FairleadError) || reason.retryable) throw reason
      // The same event under the same key was enqueued before, when the webhook was configured in another way.
      if (reason.code === 'IdempotencyConflict') continue
      logger.error({ err: reason, hook: hook.id }, 'an event could not become a delivery')
    }
  }

  async #live(): Promise<number> {
    const filter = { kind: 'task', caller: HOOK_CALLER, model: this.#name } as const
    const { read } = this.#parts.engine.view
    const pages = await Promise.all(
      LIVE.map((status) => read.jobs({ ...filter, status, afterSeq: 0, limit: DELIVERIES_MAX })),
    )
    return pages.reduce((sum, { length }) => sum + length, 0)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#endWait = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
