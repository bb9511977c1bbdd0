import { FairleadError } from '@fairlead/core/errors'
import type {
  ExplanationRecord,
  JobReceipt,
  JobSummary,
  MethodName,
  ParamsOf,
  RegistrationRecord,
  ResultOf,
  ScheduleRecord,
  Topic,
  WireEvent,
} from '@fairlead/protocol'
import { type ClaimedResult, type ReadResult, readResultOf } from './read-result.ts'
import {
  bytesOfText,
  type EnqueueOptions,
  type EnqueueRequest,
  enqueueParams,
  newKey,
  type RequestPayloads,
} from './requests.ts'
import type { StandardSchema } from './standard-schema.ts'
import { type CallOptions, Connection } from './wire/connection.ts'
import type { Line, OpenLine } from './wire/line.ts'
import { closedForGood } from './wire/lost.ts'
import { ResultWaiters } from './wire/result-waiters.ts'
import { type Notice, Subscription } from './wire/subscription.ts'
import { Subscriptions } from './wire/subscriptions.ts'

export interface ClientOptions {
  /** Not needed on loopback while the server has no tokens. */
  readonly token?: string | undefined
  /** For how long a call without an answer, or refused for now, is tried again; 30 s if left out. */
  readonly timeoutMs?: number
  /** Told whenever a connection is there, and whenever it is lost. */
  readonly onConnection?: (isOpen: boolean) => void
}

/** How far a job has come. */
export interface JobProgress {
  readonly jobId: string
  readonly percent: number
}

/** As for `listJobs`, at least one field. */
export type BulkFilter = ParamsOf<'aicf.cancelJobs'>['filter']

export interface BulkOptions {
  /** The most jobs to touch. */
  readonly limit?: number
  readonly onProgress?: (soFar: BulkEnd) => void
}

/** What an operation on many jobs came to. */
export interface BulkEnd {
  readonly operation_id: string
  readonly done: number
  readonly skipped: number
}

/** A schedule; its request is written as for `enqueue`. */
export type ScheduleOptions = Omit<ParamsOf<'schedules.put'>, 'request'> & {
  readonly request: EnqueueRequest
}

export interface ResultOptions<Value> {
  /** Given, the output is read as JSON and has to fit it. */
  readonly schema?: StandardSchema<unknown, Value>
}

interface Patience {
  /** For as long as it takes where it is left out. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

const TIMEOUT_MS = 30_000

/**
 * A requester's side of a server. The connection is opened with the first call and comes back by itself;
 * what was asked while it was away is asked again. Records and params have the names of the wire.
 */
export class Client {
  /** Of the server. */
  readonly url: string
  readonly #line: Line
  readonly #subscriptions = new Subscriptions()
  readonly #waiters: ResultWaiters
  readonly #progress = new Set<(progress: JobProgress) => void>()

  /** `openLine` is for a server that is not reached over a network. */
  constructor(url: string, options: ClientOptions = {}, openLine: OpenLine = lineTo(url, options)) {
    this.url = url
    this.#line = openLine({
      onNotification: (method, params) => {
        if (method === 'events.notify') this.#subscriptions.take(params as Notice)
        if (method === 'events.progress') this.#tellProgress(params as JobProgress)
      },
      onOpen: (socket) => {
        this.#subscriptions.opened(socket)
        options.onConnection?.(true)
        void socket.closed.then(() => options.onConnection?.(false))
      },
      onFail: (error) => this.#subscriptions.failAll(error),
    })
    this.#waiters = new ResultWaiters({ subscribe: (topics) => this.#subscribe({ topics }) })
  }

  /** Resolves when there is a connection; calls wait for one by themselves. */
  ready(): Promise<void> {
    return this.#line.open()
  }

  /**
   * Any method by its name; see the reference of methods. What may have been carried out is asked again
   * only if it does no harm twice.
   */
  call<Name extends MethodName>(
    method: Name,
    params: ParamsOf<Name>,
    options: CallOptions = {},
  ): Promise<ResultOf<Name>> {
    const isRepeatable = mayBeRepeated(method, params)
    const call = this.#line.call(method, params, { isRepeatable, ...options })
    return call as Promise<ResultOf<Name>>
  }

  /** Resolves with the receipt once the job is durable. */
  enqueue(request: EnqueueRequest): Promise<JobReceipt> {
    return this.call('aicf.enqueue', enqueueParams(request))
  }

  /** A job for a language model. The prompt is text or bytes. */
  aiEnqueue(
    model: string,
    prompt: string | Uint8Array,
    options: Omit<RequestPayloads['ai'], 'model' | 'prompt'> & EnqueueOptions,
  ): Promise<JobReceipt> {
    const { max_tokens, temperature, qos_hint_ms, ...around } = options
    const payload = {
      model,
      prompt: bytesOfText(prompt),
      max_tokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(qos_hint_ms === undefined ? {} : { qos_hint_ms }),
    }
    return this.enqueue({ kind: 'ai', payload, ...around })
  }

  /** A job for a quantum machine. The circuit is text or bytes. */
  quantumEnqueue(
    circuit: string | Uint8Array,
    options: Omit<RequestPayloads['quantum'], 'circuit'> & EnqueueOptions,
  ): Promise<JobReceipt> {
    const { shots, depth_hint, ...around } = options
    const payload = {
      circuit: bytesOfText(circuit),
      shots,
      ...(depth_hint === undefined ? {} : { depth_hint }),
    }
    return this.enqueue({ kind: 'quantum', payload, ...around })
  }

  /**
   * The result of a COMPLETED job; `NoResultYet` while it is alive, an error of its own if it ended. Without `finality`
   * it is given from the moment on at which the proof of the work is accepted, with its claim.
   */
  readResult<Value = unknown>(
    taskId: string,
    options?: ResultOptions<Value> & { readonly finality?: true },
  ): Promise<ReadResult<Value>>
  readResult<Value = unknown>(
    taskId: string,
    options: ResultOptions<Value> & { readonly finality: false },
  ): Promise<ClaimedResult<Value>>
  async readResult<Value>(
    taskId: string,
    { schema, finality = true }: ResultOptions<Value> & { readonly finality?: boolean } = {},
  ): Promise<ReadResult<Value> | ClaimedResult<Value>> {
    const ask = { task_id: taskId }
    if (finality) return await readResultOf(await this.call('aicf.getResult', ask), schema)
    let { claim, result } = await this.getJob(taskId)
    if (claim === null && result === null) {
      // `getResult` has an error for each state of the job. A job that has completed meanwhile is read again.
      await this.call('aicf.getResult', ask)
      const again = await this.getJob(taskId)
      claim = again.claim
      result = again.result
    }
    return { taskId, claim, result: result === null ? null : await readResultOf(result, schema) }
  }

  /** Waits until `readResult` has something to give; throws if the job ended without a result. */
  waitForResult<Value = unknown>(
    taskId: string,
    options?: ResultOptions<Value> & Patience & { readonly finality?: true },
  ): Promise<ReadResult<Value>>
  waitForResult<Value = unknown>(
    taskId: string,
    options: ResultOptions<Value> & Patience & { readonly finality: false },
  ): Promise<ClaimedResult<Value>>
  async waitForResult<Value>(
    taskId: string,
    options: ResultOptions<Value> & Patience & { readonly finality?: boolean } = {},
  ): Promise<ReadResult<Value> | ClaimedResult<Value>> {
    const { timeoutMs, signal, ...rest } = options
    const patience = patienceOf(taskId, timeoutMs, signal)
    const read = (): Promise<ReadResult<Value> | ClaimedResult<Value>> =>
      this.readResult(taskId, rest as ResultOptions<Value>)
    try {
      return await this.#waiters.until(
        taskId,
        read,
        (error) => error instanceof FairleadError && error.code === 'NoResultYet',
        patience.signal,
      )
    } finally {
      patience.end()
    }
  }

  getJob(taskId: string): Promise<ResultOf<'aicf.getJob'>> {
    return this.call('aicf.getJob', { task_id: taskId })
  }

  /** All jobs that fit the filter, in the order of their acceptance; pages are fetched as needed. */
  async *listJobs(
    filter: Omit<ParamsOf<'aicf.listJobs'>, 'cursor'> = {},
  ): AsyncIterableIterator<JobSummary> {
    for await (const { jobs } of this.#pages('aicf.listJobs', filter)) yield* jobs
  }

  /**
   * Ends a job that has not ended; a worker that has it is told. Gives `CANCELED`, or what a registration is
   * whose attempt is under way: it is cancelled when the outcome is known, unless it is booked.
   */
  async cancel(taskId: string): Promise<ResultOf<'aicf.cancelJob'>['status']> {
    try {
      return (await this.call('aicf.cancelJob', { task_id: taskId })).status
    } catch (error) {
      // The answer to a first try may have been lost with its connection.
      const isEnded = error instanceof FairleadError && error.code === 'InvalidState'
      if (!isEnded || (await this.getJob(taskId)).status !== 'CANCELED') throw error
      return 'CANCELED'
    }
  }

  /** Cancels all jobs that fit, and waits for the end of that. */
  cancelJobs(filter: BulkFilter, options: BulkOptions = {}): Promise<BulkEnd> {
    return this.#many('aicf.cancelJobs', filter, options)
  }

  /** Enqueues again all jobs that fit and ended without a result, and waits until they are enqueued. */
  retryJobs(filter: BulkFilter, options: BulkOptions = {}): Promise<BulkEnd> {
    return this.#many('aicf.retryJobs', filter, options)
  }

  async #many(
    method: 'aicf.cancelJobs' | 'aicf.retryJobs',
    filter: BulkFilter,
    { limit, onProgress }: BulkOptions,
  ): Promise<BulkEnd> {
    const operation_id = newKey()
    const events = this.events({ topics: ['bulkProgress', 'bulkEnded'] })
    // From here on, so that no end is missed.
    await events.ready()
    try {
      await this.call(method, { filter, operation_id, ...(limit === undefined ? {} : { limit }) })
      for await (const event of events) {
        if (event.type !== 'bulkProgress' && event.type !== 'bulkEnded') continue
        if (event.subject !== operation_id) continue
        const { done, skipped } = event
        if (event.type === 'bulkEnded') return { operation_id, done, skipped }
        onProgress?.({ operation_id, done, skipped })
      }
      throw closedForGood()
    } finally {
      await events.return?.()
    }
  }

  /** Adds a schedule, or replaces the one of this id; fit to be called at every start. */
  async putSchedule({ request, ...rest }: ScheduleOptions): Promise<ScheduleRecord> {
    const { idempotency_key: _, ...asked } = enqueueParams(request)
    const params = { ...rest, request: asked } as ParamsOf<'schedules.put'>
    return (await this.call('schedules.put', params)).schedule
  }

  /** Enqueues the job of a schedule now, and gives its id. */
  async triggerSchedule(id: string): Promise<string> {
    const params = { id, idempotency_key: newKey() }
    return (await this.call('schedules.trigger', params)).task_id
  }

  /**
   * Puts somebody into the line for a session. Resolves once that is durable, with the reference, the text
   * for the person, and the place so far.
   */
  schedule(request: ParamsOf<'signup.schedule'>): Promise<ResultOf<'signup.schedule'>> {
    return this.call('signup.schedule', { idempotency_key: newKey(), ...request })
  }

  /** Takes a registration out of its line, by its reference or task id. */
  cancelRegistration(id: string): Promise<ResultOf<'signup.cancel'>> {
    return this.call('signup.cancel', { id })
  }

  /** Registrations in the order in which they were scheduled; pages are fetched as needed. */
  async *listRegistrations(
    filter: Omit<ParamsOf<'signup.list'>, 'cursor'> = {},
  ): AsyncIterableIterator<RegistrationRecord> {
    const pages = this.#pages('signup.list', filter)
    for await (const { registrations } of pages) yield* registrations
  }

  /** A session: its queue with ranks, and what its organisation may send. */
  getSession(session: ParamsOf<'signup.getSession'>): Promise<ResultOf<'signup.getSession'>> {
    return this.call('signup.getSession', session)
  }

  /** What became of a registration, in words and step by step; by its reference or task id. */
  auditRegistration(id: string): Promise<ResultOf<'signup.audit'>> {
    return this.call('signup.audit', { id })
  }

  /** Why it waits, or why it went where it went; `text` says it in sentences. */
  explain(taskId: string): Promise<ExplanationRecord> {
    return this.call('aicf.explainJob', { task_id: taskId })
  }

  /**
   * Events from now on, or all after a number. The iterator outlives lost connections: nothing is left
   * out and nothing comes twice. It ends with the signal, with `break`, or with `close`.
   */
  events(
    options: {
      readonly topics?: readonly Topic[]
      readonly afterSeq?: number
      readonly signal?: AbortSignal
    } = {},
  ): AsyncIterableIterator<WireEvent> & { ready(): Promise<void> } {
    return this.#subscribe(options)
  }

  /**
   * Tells of the progress of jobs as it happens, until the signal fires. Progress that comes while the connection is
   * away is not told later.
   */
  async onProgress(
    listener: (progress: JobProgress) => void,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const events = this.#subscribe({ topics: ['jobProgress'], signal })
    this.#progress.add(listener)
    signal?.addEventListener('abort', () => this.#progress.delete(listener), { once: true })
    await events.ready()
  }

  #tellProgress(progress: JobProgress): void {
    for (const listener of this.#progress) listener(progress)
  }

  /** What is under way is rejected; iterators of events end. */
  async close(): Promise<void> {
    this.#waiters.close()
    this.#subscriptions.failAll(null)
    await this.#line.close()
  }

  /** One page after the other, as long as there is a next. */
  async *#pages<Name extends 'aicf.listJobs' | 'signup.list'>(
    method: Name,
    filter: ParamsOf<Name>,
  ): AsyncIterableIterator<ResultOf<Name>> {
    let cursor: string | null = null
    do {
      const page: ResultOf<Name> = await this.call(
        method,
        cursor === null ? filter : { ...filter, cursor },
      )
      yield page
      cursor = page.cursor
    } while (cursor !== null)
  }

  #subscribe(
    options: ConstructorParameters<typeof Subscription>[0] extends infer All
      ? Omit<All, 'onEnd'>
      : never,
  ): Subscription {
    const letGo = this.#line.hold()
    const subscription: Subscription = new Subscription({
      ...options,
      onEnd: () => {
        this.#subscriptions.remove(subscription)
        letGo()
      },
    })
    if (this.#line.isClosed) subscription.fail(closedForGood())
    else this.#subscriptions.add(subscription)
    return subscription
  }
}

function mayBeRepeated(method: MethodName, params: object): boolean {
  if (method === 'aicf.retryJobs') return 'operation_id' in params
  if (method === 'schedules.trigger') return 'idempotency_key' in params
  if (method === 'aicf.enqueue') return 'idempotency_key' in params || 'tx_hash' in params
  if (method === 'signup.schedule') return 'idempotency_key' in params
  return !ONCE.has(method)
}

/** What does more when it happens twice. A challenge is answered once. */
const ONCE: ReadonlySet<MethodName> = new Set(['aicf.stake', 'aicf.unstake', 'aicf.attest'])

/** A signal that fires when the time is over or the caller's own does. */
function patienceOf(
  taskId: string,
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const own = new AbortController()
  const abort = (): void => own.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted === true) abort()
  const tooLong = (): void =>
    own.abort(
      new FairleadError('NoResultYet', `job ${taskId} has no result after ${timeoutMs} ms`, {
        timeoutMs,
      }),
    )
  const timer = timeoutMs === undefined ? undefined : setTimeout(tooLong, timeoutMs)
  return {
    signal: own.signal,
    end: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    },
  }
}

function lineTo(url: string, { token, timeoutMs = TIMEOUT_MS }: ClientOptions): OpenLine {
  const address = socketUrl(url)
  return (listener) => new Connection({ url: address, token, timeoutMs, ...listener })
}

/** The address of the WebSocket of a server. */
export function socketUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^(?:http|ws)s?:$/.test(parsed.protocol)) {
    throw new FairleadError(
      'InvalidParams',
      `url: expected the address of a server, as in http://127.0.0.1:7433, got ${url}`,
      { field: 'url' },
    )
  }
  parsed.protocol = parsed.protocol.replace('http', 'ws')
  const path = parsed.pathname.replace(/\/+$/, '')
  parsed.pathname = path.endsWith('/ws') ? path : `${path}/ws`
  return parsed.href
}
