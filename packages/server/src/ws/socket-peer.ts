import {
  FairleadError,
  type LeaseSession,
  type ProviderId,
  type WorkerHello,
  type WorkerId,
} from '@fairlead/core'
import {
  type NotificationName,
  type NotificationOf,
  type ResultOf,
  RPC_ERRORS,
} from '@fairlead/protocol'
import type { WebSocket } from 'ws'
import type { Identity } from '../auth/identity.ts'
import type { EventHub } from '../events/event-hub.ts'
import type { Ownership } from '../events/ownership.ts'
import { PeerSubscriptions, type Wanted } from '../events/peer-subscriptions.ts'
import type { ServerLimits } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { Call, Peer, Services } from '../rpc/call.ts'
import type { Dispatcher } from '../rpc/dispatcher.ts'
import {
  type Answer,
  CBOR_FORMAT,
  JSON_FORMAT,
  type MessageFormat,
  type Piece,
} from '../rpc/message-format.ts'
import { scopedSource } from '../workers/scoped-source.ts'
import { WorkerPush } from '../workers/worker-push.ts'
import { CLOSE } from './close-codes.ts'
import { SocketOutbox } from './socket-outbox.ts'

export interface PeerParts {
  readonly ws: WebSocket
  readonly id: string
  readonly identity: Identity
  readonly dispatcher: Dispatcher
  readonly ownership: Ownership
  readonly limits: ServerLimits
  readonly logger: Logger
  /** Whether it takes several messages in one frame (WS-2). */
  readonly takesBatches: boolean
}

/** Pings without an answer. More than one: what was answered may not have been read yet. */
const PINGS_MAX = 2
/** How long a socket that is cut off may take to read why. */
const FAREWELL_MS = 5_000

const NO_MESSAGE: Answer = { id: null, method: null, error: RPC_ERRORS.parse }

/** One WebSocket: its calls, its subscriptions and the workers that it serves. */
export class SocketPeer implements Peer {
  readonly #parts: PeerParts
  readonly #call: Call
  readonly #outbox: SocketOutbox
  readonly #subscriptions: PeerSubscriptions
  readonly #workers = new Map<
    string,
    { push: WorkerPush; session: LeaseSession; provider: ProviderId }
  >()
  /** What the server says by itself has the format of what the client said last. */
  #format: MessageFormat = JSON_FORMAT
  #openCalls = 0
  #unanswered = 0
  #isOpen = true

  constructor(parts: PeerParts) {
    this.#parts = parts
    const { ws, identity, id, limits, takesBatches, ownership, logger } = parts
    this.#call = { identity, socket: this, signal: null, traceparent: null, requestId: id }
    this.#outbox = new SocketOutbox({
      ws,
      takesBatches,
      unsentBytes: limits.unsentBytes,
      stallMs: limits.stallMs,
      tooSlow: (why) => this.cutOff(CLOSE.tooSlow, why),
      broken: (err) => this.#broken(err),
    })
    this.#subscriptions = new PeerSubscriptions({
      ownership,
      max: limits.subscriptionsPerSocket,
      send: (subscription, entries) =>
        this.#outbox.pushPaced(this.#format, this.#format.events(subscription, entries)),
      tellProgress: (subscription_id, { jobId, percent }) =>
        this.notify('events.progress', { subscription_id, jobId, percent }),
      failed: (error) => {
        logger.error({ err: error }, 'events could not be read')
        this.cutOff(CLOSE.tryLater, 'events could not be read; connect again')
      },
    })
    ws.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary))
    ws.on('pong', () => {
      this.#unanswered = 0
    })
    // The close that follows says all there is to say.
    ws.on('error', () => undefined)
    ws.on('close', () => this.#closed())
  }

  get identity(): Identity {
    return this.#parts.identity
  }

  /** Resolves when the connection is over. */
  get whenClosed(): Promise<void> {
    const { ws } = this.#parts
    if (ws.readyState === ws.CLOSED) return Promise.resolve()
    return new Promise((resolve) => ws.once('close', () => resolve()))
  }

  /** Asks for a sign of life; one that did not answer twice is cut off. */
  ping(): void {
    const { ws } = this.#parts
    if (this.#unanswered >= PINGS_MAX) {
      return this.cutOff(CLOSE.tooSlow, `too slow: ${PINGS_MAX} pings were not answered`)
    }
    this.#unanswered++
    ws.ping()
  }

  notify<Name extends NotificationName>(name: Name, params: NotificationOf<Name>): void {
    this.#outbox.push(this.#format, this.#format.notification(name, params))
  }

  /** Ends the connection, with a reason that the other side can read. Its workers have left at once. */
  cutOff(code: number, reason: string): void {
    const { ws, id, logger } = this.#parts
    if (!this.#isOpen || ws.readyState !== ws.OPEN) return
    logger.warn({ socket: id, code, reason }, 'a socket was cut off')
    this.#closed()
    ws.close(code, reason)
    // Who takes nothing at all will not take a farewell either.
    setTimeout(() => ws.terminate(), FAREWELL_MS).unref()
  }

  /** Sends what is ready and says goodbye. */
  goAway(): void {
    this.#outbox.flush()
    this.#parts.ws.close(CLOSE.goingAway, 'the server shuts down')
  }

  terminate(): void {
    this.#parts.ws.terminate()
  }

  /** The provider of the workers of this socket, if it is one. */
  onlyProvider(): ProviderId | undefined {
    const providers = new Set([...this.#workers.values()].map(({ provider }) => provider))
    return providers.size === 1 ? [...providers][0] : undefined
  }

  session(providerId: ProviderId, workerId: WorkerId): LeaseSession | null {
    return this.#workers.get(`${providerId} ${workerId}`)?.session ?? null
  }

  /** Connects a worker, whose leases are pushed from now on. */
  async serve(hello: WorkerHello, { engine }: Services): Promise<ResultOf<'aicf.pollLeases'>> {
    const { providerId, workerId } = hello
    const key = `${providerId} ${workerId}`
    this.#workers.get(key)?.push.close()
    const push: WorkerPush = new WorkerPush({
      hello,
      isReady: () => this.#outbox.wake(push),
      notify: (name, params) => this.notify(name, params),
      over: () => {
        if (this.#workers.get(key)?.push === push) this.#workers.delete(key)
      },
    })
    const session = await scopedSource(engine.leaseSource(), this.identity)
      .open(hello, push.listener)
      .catch(async (error: unknown) => {
        // It is deaf by now, so it has left: to be served it has to connect again.
        const before = this.#workers.get(key)
        this.#workers.delete(key)
        await before?.session.close().catch(() => undefined)
        throw error
      })
    // It may have gone while it was being connected.
    if (!this.#isOpen) {
      push.close()
      await session.close()
    } else if (!push.isClosed) this.#workers.set(key, { push, session, provider: providerId })
    return { leases: [], held: null, lost: [], notice: push.takeNotice() }
  }

  subscribe(hub: EventHub, wanted: Wanted): ResultOf<'events.subscribe'> {
    return this.#subscriptions.add(hub, wanted)
  }

  unsubscribe(id: string): boolean {
    return this.#subscriptions.remove(id)
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const { dispatcher, takesBatches } = this.#parts
    const format = isBinary ? CBOR_FORMAT : JSON_FORMAT
    this.#format = format
    this.#unanswered = 0
    this.#begin(async () => {
      const read = await dispatcher.read(data, this.#call, format)
      if (read === null) return this.#push(format, NO_MESSAGE)
      const { message } = read
      const refusal = Array.isArray(message) && takesBatches && dispatcher.refuseBatch(message)
      if (refusal) return this.#push(format, refusal)
      if (Array.isArray(message) && takesBatches) {
        // A frame is only a frame to such a client: each call is answered as soon as it can be.
        for (const one of message) this.#begin(() => this.#answerOne(one, format))
        return
      }
      const answer = await dispatcher.answer(message, this.#call, format)
      if (answer === null) return
      if (answer.isBatch) this.#outbox.pushBatch(format, answer.pieces)
      else this.#outbox.push(format, answer.pieces[0] as Piece)
    })
  }

  async #answerOne(written: unknown, format: MessageFormat): Promise<void> {
    const { dispatcher } = this.#parts
    const answer = await dispatcher.answerOne(written, this.#call, format)
    if (answer !== null)
      this.#outbox.push(format, await dispatcher.write(answer, this.#call, format))
  }

  /** One call, or a message, that is under way until it is answered. */
  #begin(carryOut: () => Promise<void>): void {
    const { ws, limits } = this.#parts
    if (++this.#openCalls > limits.callsPerSocket && !ws.isPaused) ws.pause()
    carryOut()
      .catch((err: unknown) => this.#broken(err))
      .finally(() => {
        if (--this.#openCalls < limits.callsPerSocket / 2 && ws.isPaused) ws.resume()
      })
  }

  /** An answer that cannot be written is a defect, and nobody may wait for it in vain. */
  #broken(err: unknown): void {
    this.#parts.logger.error({ err, socket: this.#parts.id }, 'a message could not be written')
    this.cutOff(CLOSE.internal, 'an error inside of Fairlead; its log has more')
  }

  #push(format: MessageFormat, answer: Answer): void {
    this.#outbox.push(format, format.answer(answer))
  }

  #closed(): void {
    this.#isOpen = false
    this.#outbox.close()
    this.#subscriptions.close()
    for (const { push, session } of this.#workers.values()) {
      push.close()
      session.close().catch((err: unknown) => {
        if (err instanceof FairleadError && err.retryable) return
        this.#parts.logger.warn({ err }, 'a worker that left could not be taken off')
      })
    }
    this.#workers.clear()
  }
}
