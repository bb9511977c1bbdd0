import {
  type Client,
  connect,
  FairleadError,
  type MethodName,
  type ParamsOf,
  type ResultOf,
  type Topic,
  type WireEvent,
} from '@fairlead/client'
import { signal } from '@preact/signals'
import { currentToken, forgetToken, setToken } from './token.ts'

/**
 * - `connecting`: never heard of the server yet
 * - `live`: connected
 * - `lost`: it was connected, and is tried again
 * - `asleep`: the tab is hidden, and nothing is asked
 * - `refused`: the server wants a token, or another one
 */
export type LineState = 'connecting' | 'live' | 'lost' | 'asleep' | 'refused'
export type Who = ResultOf<'auth.whoami'>

/** Events that are rare however busy the server is. What happens to jobs is asked for by the screen that shows it. */
const TOPICS: readonly Topic[] = [
  'bulkStarted',
  'bulkProgress',
  'bulkEnded',
  'queuePaused',
  'queueResumed',
  'schedulePut',
  'scheduleDeleted',
  'providerRegistered',
  'providerUpdated',
  'providerStatus',
  'providerSlashed',
  'workerConnected',
  'workerLeft',
  'policyChanged',
  'limitDefined',
  'limitReset',
  'limitDeleted',
  'openingSet',
  'epochSettled',
  'payoutRecorded',
  'backupMade',
]

const AGAIN_MS = 1_000

/** The one connection of the tab: a WebSocket that comes back by itself, and is closed while nobody looks. */
class Line {
  readonly state = signal<LineState>('connecting')
  readonly who = signal<Who | null>(null)
  /** The server has become another version than the one that this page is of. */
  readonly isOutdated = signal(false)
  /** Why the server does not let the page in. */
  readonly refusal = signal<string | null>(null)
  #client: Client | null = null
  /** The last event that was seen: behind it the next connection goes on. */
  #lastSeq: number | null = null
  /** Of the server that the page came from. */
  #version: string | null = null
  readonly #listeners = new Set<(event: WireEvent) => void>()

  start(): void {
    document.addEventListener('visibilitychange', () => this.#look())
    this.#look()
  }

  /** Connects with a token, which is kept for this tab if that is asked for. */
  logIn(token: string, isKept: boolean): void {
    setToken(token, isKept)
    this.#lastSeq = null
    this.#open()
  }

  logOut(): void {
    forgetToken()
    this.who.value = null
    this.#lastSeq = null
    this.#open()
  }

  /** Any method. A call waits for the connection for a while, and is made again where its answer was lost. */
  call<Name extends MethodName>(
    method: Name,
    params: ParamsOf<Name>,
    signal?: AbortSignal,
  ): Promise<ResultOf<Name>> {
    if (this.#client === null) {
      return Promise.reject(new FairleadError('StoreUnavailable', 'the page is not connected'))
    }
    return this.#client.call(method, params, { signal })
  }

  /** Hears of the events that are rare; gives what ends that. */
  onEvent(listener: (event: WireEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #look(): void {
    if (document.visibilityState === 'hidden') {
      if (this.state.value !== 'refused') this.state.value = 'asleep'
      this.#drop()
    } else if (this.#client === null && this.state.value !== 'refused') this.#open()
  }

  #drop(): void {
    const client = this.#client
    this.#client = null
    void client?.close()
  }

  #open(): void {
    this.#drop()
    this.refusal.value = null
    this.state.value = this.who.value === null ? 'connecting' : 'lost'
    const token = currentToken()
    const client = connect(new URL('.', document.baseURI).href, {
      ...(token === null ? {} : { token }),
      onConnection: (isOpen) => {
        if (this.#client !== client) return
        if (isOpen) void this.#greet(client)
        else this.state.value = 'lost'
      },
    })
    this.#client = client
    void this.#listen(client)
  }

  /** A new connection: the token may mean something else by now. */
  async #greet(client: Client): Promise<void> {
    try {
      const who = await client.call('auth.whoami', {})
      if (this.#client !== client) return
      this.#version ??= who.version
      this.isOutdated.value = this.#version !== who.version
      this.who.value = who
      this.state.value = 'live'
    } catch (error) {
      this.#failed(client, error)
    }
  }

  /** Holds the connection up, and goes on behind the last event that was seen. */
  async #listen(client: Client): Promise<void> {
    const events = client.events({
      topics: TOPICS,
      ...(this.#lastSeq === null ? {} : { afterSeq: this.#lastSeq }),
    })
    try {
      for await (const event of events) {
        this.#lastSeq = event.seq
        for (const listener of this.#listeners) listener(event)
      }
    } catch (error) {
      this.#failed(client, error)
    }
  }

  #failed(client: Client, error: unknown): void {
    if (this.#client !== client) return
    const code = error instanceof FairleadError ? error.code : null
    if (code === 'Unauthorized' || code === 'Forbidden') {
      this.#drop()
      // Without a token there is nothing wrong with it: the page only has to ask for one.
      const isAsked = currentToken() !== null
      this.refusal.value = isAsked || code === 'Forbidden' ? (error as Error).message : null
      this.who.value = null
      this.state.value = 'refused'
      return
    }
    // The events behind the last that was seen are gone: everything is asked anew anyway.
    if (code === 'EventsPruned') this.#lastSeq = null
    this.state.value = 'lost'
    this.#drop()
    setTimeout(() => {
      if (this.#client === null) this.#look()
    }, AGAIN_MS)
  }
}

export const line = new Line()
