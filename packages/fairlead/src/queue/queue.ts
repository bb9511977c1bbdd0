import {
  type BulkEnd,
  type Client,
  drainOnSignals,
  type EnqueueRequest,
  type JobReceipt,
  type Worker,
} from '@fairlead/client'
import { FairleadError, type JobStatus, type WaitReason } from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import type { ScheduleRecord } from '@fairlead/protocol'
import { type AddOptions, checkAddOptions, wireOptions } from './add-options.ts'
import { EVENT_NAMES, EventListeners, type QueueEventName, type QueueEvents } from './events.ts'
import { fitted } from './fitted.ts'
import { Job, type JobParts } from './job.ts'
import { checkFilter, type JobFilter, refuseAll, wireFilter } from './job-filter.ts'
import { inOwnWords, inPlace } from './own-words.ts'
import { checkData, kindOf } from './plain-data.ts'
import type { QueuePort } from './port.ts'
import { refuseUnknown } from './refuse-unknown.ts'
import type { RunningJob } from './running-job.ts'
import {
  checkWorkOptions,
  type Intercept,
  type SchemaOf,
  taskWorker,
  type WorkOptions,
  withAdvice,
} from './task-worker.ts'
import type {
  AnyTasks,
  DataIn,
  DataOut,
  NameIn,
  ResultOut,
  Returned,
  SchemasByName,
} from './tasks.ts'
import { type Duration, msOf } from './time.ts'
import type { OnError } from './warn.ts'

/** A job for `addMany`. */
export type NewJob<Tasks, Name extends NameIn<Tasks> = NameIn<Tasks>> = {
  [Each in Name]: {
    readonly name: Each
    readonly data: DataIn<Tasks[Each]>
    readonly options?: AddOptions
  }
}[Name]

export interface ScheduleOptions extends Omit<AddOptions, 'key' | 'delay' | 'runAt'> {
  /** An IANA name such as `Europe/Berlin`; UTC if left out. */
  readonly timezone?: string
  /** `skip` leaves a time out while the newest job of the schedule is live; `allow` if left out. */
  readonly overlap?: 'allow' | 'skip'
  /** After downtime: none of the missed times, the last (if left out), or all. */
  readonly catchUp?: 'none' | 'last' | 'all'
  readonly paused?: boolean
}

/** Jobs of one name that could run now, and those of them that a pause holds back. */
export interface QueueStats {
  readonly name: string
  readonly ready: number
  readonly held: number
}

export interface WorkHandle {
  /** Takes no more jobs, and waits for the handlers; after `deadline` their signals fire, and the jobs are given back. */
  stop(options?: { readonly deadline?: Duration }): Promise<void>
  /** Resolves when it has stopped; is rejected if it cannot go on. */
  readonly closed: Promise<void>
}

type TaskRequest = Extract<EnqueueRequest, { readonly kind: 'task' }>

export interface QueueParts {
  readonly port: QueuePort
  readonly schemas: SchemasByName
  readonly defaults: AddOptions
  readonly onError: OnError
  readonly intercept?: Intercept | undefined
}

/** Handlers may take as long to end as Kubernetes and systemd wait, less some time to say goodbye. */
const CLOSE_MS = 25_000
/** Jobs of `addMany` that are under way at once. */
const ADDED_AT_ONCE = 500

/**
 * A queue of tasks: in this process, on a file or in memory, or on a server. Tasks have names; `add` enqueues one, and
 * `work` handles those of a name. What `add` answered is durable.
 */
export class Queue<Tasks = AnyTasks> {
  /** Resolves when the queue is closed. */
  readonly closed: Promise<void>
  readonly #port: QueuePort
  readonly #client: Client
  readonly #schemas: SchemasByName
  readonly #defaults: AddOptions
  readonly #parts: JobParts
  readonly #workers = new Set<Worker>()
  readonly #listeners: EventListeners
  readonly #onError: OnError
  readonly #intercept: Intercept | undefined
  #closing: Promise<void> | null = null
  #tellClosed: () => void = () => {}

  constructor({ port, schemas, defaults, onError, intercept }: QueueParts) {
    this.#port = port
    this.#client = port.client
    this.#schemas = schemas
    this.#defaults = defaults
    this.#onError = onError
    this.#intercept = intercept
    this.#listeners = new EventListeners(port.client, (error) => onError(error, null))
    this.#parts = { client: port.client, schemaOf: this.#schemaOf }
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve
    })
  }

  /** Enqueues a job; resolves when it is durable. */
  async add<Name extends NameIn<Tasks>>(
    name: Name,
    data: DataIn<Tasks[Name]>,
    options: AddOptions = {},
  ): Promise<Job<DataIn<Tasks[Name]>, ResultOut<Tasks[Name]>>> {
    return this.#send(name, await this.#request(name, data, options))
  }

  /** Enqueues a request in the words of the wire, of any kind; an outbox has such. */
  enqueue(request: EnqueueRequest): Promise<JobReceipt> {
    this.#refuseClosed()
    return this.#client.enqueue(request)
  }

  /** Enqueues many jobs. All are checked before the first is sent. */
  async addMany<Name extends NameIn<Tasks>>(
    jobs: Iterable<NewJob<Tasks, Name>>,
  ): Promise<Job<DataIn<Tasks[Name]>, ResultOut<Tasks[Name]>>[]> {
    const requests = await Promise.all(
      listOf(jobs).map(async (job, i) => {
        refuseUnknown('fields', job, NEW_JOB_NAMES, `jobs[${i}].`)
        const { name, data, options = {} } = job
        const path = `jobs[${i}].`
        return { name, path, request: await inPlace(path, this.#request(name, data, options)) }
      }),
    )
    const added: Job<DataIn<Tasks[Name]>, ResultOut<Tasks[Name]>>[] = []
    for (let from = 0; from < requests.length; from += ADDED_AT_ONCE) {
      const part = requests.slice(from, from + ADDED_AT_ONCE)
      const sent = part.map(({ name, request, path }) => this.#send(name, request, path))
      added.push(...(await Promise.all(sent)))
    }
    return added
  }

  /**
   * Handles the jobs of a name from now on, in this process. What the handler returns is the result; what it throws fails
   * the attempt, and the job is tried again later. With `*` it takes the jobs of all names that nobody else takes.
   */
  work<Name extends NameIn<Tasks>>(
    name: Name,
    handler: (
      data: DataOut<Tasks[Name]>,
      job: RunningJob,
    ) => Returned<Tasks[Name]> | Promise<Returned<Tasks[Name]>>,
    options: WorkOptions = {},
  ): WorkHandle {
    this.#refuseClosed()
    checkName(name)
    checkWorkOptions(options)
    if (typeof handler !== 'function') throw invalidParams('handler', 'a function (data, job) => …')
    const { onError = this.#onError } = options
    const worker = taskWorker({
      port: this.#port,
      name,
      handler,
      schemaOf: this.#schemaOf,
      intercept: this.#intercept,
      options: { ...options, onError },
    })
    this.#workers.add(worker)
    const forget = (): void => void this.#workers.delete(worker)
    const closed = worker.closed.catch((error: unknown) => {
      throw withAdvice(error)
    })
    closed.then(forget, (error: unknown) => {
      forget()
      onError(error, null)
    })
    return {
      stop: ({ deadline } = {}) =>
        worker.stop(deadline === undefined ? {} : { graceMs: msOf('deadline', deadline) }),
      closed,
    }
  }

  /** A job by its id; null if there is none, or none any more. */
  async get<Name extends NameIn<Tasks>>(
    id: string,
  ): Promise<Job<DataIn<Tasks[Name]>, ResultOut<Tasks[Name]>> | null> {
    try {
      return Job.of(this.#parts, (await inOwnWords(this.#client.getJob(id))).job)
    } catch (error) {
      if (error instanceof FairleadError && error.code === 'NotFound') return null
      throw error
    }
  }

  /** Jobs that fit, in the order in which they were added, or the newest first. Pages are fetched as needed. */
  async *find<Name extends NameIn<Tasks>>(
    filter: JobFilter<Name> & {
      /** Jobs that wait, for this reason at this time. */
      readonly waitReason?: WaitReason
      readonly order?: 'oldest' | 'newest'
    } = {},
  ): AsyncIterableIterator<Job<DataIn<Tasks[Name]>, ResultOut<Tasks[Name]>>> {
    checkFilter(filter)
    const { waitReason, order, ...rest } = filter
    const jobs = this.#client.listJobs({
      ...wireFilter(rest),
      ...(waitReason === undefined ? {} : { wait_reason: waitReason }),
      ...(order === undefined ? {} : { order }),
    })
    for (;;) {
      // Not around the `yield`: an error of the caller's is its own.
      const { done, value } = await inOwnWords(jobs.next())
      if (done) return
      yield Job.of(this.#parts, value)
    }
  }

  /** Cancels all jobs that fit, and waits for the end of that. */
  async cancelMany(
    filter: JobFilter<NameIn<Tasks>>,
    options: { readonly limit?: number } = {},
  ): Promise<BulkEnd> {
    refuseAll(filter)
    refuseUnknown('options', options, BULK_NAMES)
    return inOwnWords(this.#client.cancelJobs(wireFilter(filter), options))
  }

  /** Adds again all jobs that fit and ended without a result, and waits for the end of that. */
  async retryMany(
    filter: JobFilter<NameIn<Tasks>>,
    options: { readonly limit?: number } = {},
  ): Promise<BulkEnd> {
    refuseAll(filter)
    refuseUnknown('options', options, BULK_NAMES)
    return inOwnWords(this.#client.retryJobs(wireFilter(filter), options))
  }

  /** Holds back the jobs of a name, or with `*` all. Handlers that run go on. */
  async pause(name: NameIn<Tasks> | '*'): Promise<void> {
    await this.#client.call('queues.pause', pauseKey(name))
  }

  /** Ends the pause with this name, or with `*` that of all. Gives false if there was none. */
  async resume(name: NameIn<Tasks> | '*'): Promise<boolean> {
    return (await this.#client.call('queues.resume', pauseKey(name))).resumed
  }

  /** Adds a job at the times of a cron expression. The same id replaces; fit to be called at every start. */
  async schedule<Name extends NameIn<Tasks>>(
    id: string,
    cron: string,
    name: Name,
    data: DataIn<Tasks[Name]>,
    options: ScheduleOptions = {},
  ): Promise<{ readonly nextAt: Date | null }> {
    const { timezone, overlap, catchUp, paused, ...addOptions } = options
    const put = this.#client.putSchedule({
      id,
      cron,
      request: await this.#request(name, data, addOptions),
      ...(timezone === undefined ? {} : { timezone }),
      ...(overlap === undefined ? {} : { overlap }),
      ...(catchUp === undefined ? {} : { catch_up: catchUp }),
      ...(paused === undefined ? {} : { paused }),
    })
    const { next_at } = await inOwnWords(put)
    return { nextAt: next_at === null ? null : new Date(next_at) }
  }

  /** Ends a schedule; its jobs stay. Gives false if there was none. */
  async unschedule(id: string): Promise<boolean> {
    return (await this.#client.call('schedules.delete', { id })).deleted
  }

  /** Adds the job of a schedule now. */
  async trigger(id: string): Promise<Job> {
    const jobId = await this.#client.triggerSchedule(id)
    return Job.of(this.#parts, (await this.#client.getJob(jobId)).job)
  }

  /** All schedules, by id. */
  async schedules(): Promise<readonly ScheduleRecord[]> {
    const all: ScheduleRecord[] = []
    let cursor: string | null = null
    do {
      const page: { readonly schedules: ScheduleRecord[]; readonly cursor: string | null } =
        await this.#client.call('schedules.list', cursor === null ? {} : { cursor })
      all.push(...page.schedules)
      cursor = page.cursor
    } while (cursor !== null)
    return all
  }

  /** Calls the listener whenever this happens to any job, from the next call of the queue on. Gives the end of that. */
  on<Event extends QueueEventName>(
    event: Event,
    listener: (event: QueueEvents[Event]) => void,
  ): () => void {
    this.#refuseClosed()
    if (!EVENT_NAMES.includes(event))
      throw invalidParams('event', `one of ${EVENT_NAMES.join(', ')}`, event)
    return this.#listeners.add(event, listener)
  }

  /** The names that have jobs which could run now, with their numbers. */
  async stats(): Promise<readonly QueueStats[]> {
    const { queues } = await this.#client.call('queues.list', {})
    return queues
      .filter(({ kind }) => kind === 'task')
      .map(({ name, ready, held }) => ({ name: name ?? '', ready, held }))
  }

  /** How many jobs there are by status, of one name or of all that fit a filter. It looks at each of them. */
  async counts(
    filter: JobFilter<NameIn<Tasks>> = {},
  ): Promise<Readonly<Record<JobStatus, number>>> {
    const asked = { filter: wireFilter(filter), dry_run: true }
    const { counts } = await inOwnWords(this.#client.call('aicf.cancelJobs', asked))
    const found = Object.fromEntries((counts ?? []).map(({ status, matches }) => [status, matches]))
    return { ...NO_JOBS, ...found }
  }

  /**
   * Stops the workers and closes the queue. Handlers may end within `deadline` (25 s if left out); then their signals fire,
   * and their jobs are given back, so that others do them.
   */
  close({ deadline = CLOSE_MS }: { readonly deadline?: Duration } = {}): Promise<void> {
    const graceMs = msOf('deadline', deadline)
    this.#closing ??= this.#close(graceMs)
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(graceMs: number): Promise<void> {
    try {
      await Promise.allSettled([...this.#workers].map((worker) => worker.stop({ graceMs })))
      this.#listeners.close()
      await this.#port.close()
    } finally {
      this.#tellClosed()
    }
  }

  async #send<Name extends NameIn<Tasks>>(
    name: Name,
    request: TaskRequest,
    path = '',
  ): Promise<Job<DataIn<Tasks[Name]>, ResultOut<Tasks[Name]>>> {
    await this.#listeners.ready
    const receipt = await inOwnWords(this.#client.enqueue(request), path)
    const { task_id: id, deduplicated: isDuplicate = false } = receipt
    const data = request.payload.args as DataIn<Tasks[Name]>
    // What was given is that of the new job, not of one that was there.
    if (isDuplicate) return new Job(this.#parts, { id, name, data, isDuplicate })
    const { tags = [], run_at: runAt } = request
    return new Job(this.#parts, { id, name, data, tags: tags ?? [], runAt: runAt ?? null })
  }

  async #request(name: string, data: unknown, options: AddOptions): Promise<TaskRequest> {
    this.#refuseClosed()
    checkName(name)
    const given = data === undefined ? {} : data
    checkData(given)
    // A copy: what the caller does to the object later is no part of the job.
    const args = JSON.parse(JSON.stringify(given)) as TaskRequest['payload']['args']
    const schema = this.#schemaOf(name, 'data')
    // The data as it was given goes out; the worker's side makes of it what the schema says.
    if (schema !== undefined) await fitted(schema, 'data', args)
    const payload = { name, args }
    // To spread what is no object gives none.
    checkAddOptions(options)
    return { kind: 'task', payload, ...wireOptions({ ...this.#defaults, ...options }) }
  }

  readonly #schemaOf: SchemaOf = (name, part) =>
    Object.hasOwn(this.#schemas, name) ? this.#schemas[name]?.[part] : undefined

  #refuseClosed(): void {
    if (this.#closing !== null) {
      throw new FairleadError('SchedulerClosed', 'the queue was closed; open it again')
    }
  }
}

/** Closes a queue when the process is told to end; then the process ends by that signal. */
export function closeOnSignals(queue: Queue<never>, deadline: Duration = CLOSE_MS): void {
  const graceMs = msOf('deadline', deadline)
  const stop = (): Promise<void> => queue.close({ deadline: graceMs })
  drainOnSignals({ stop, closed: queue.closed }, graceMs)
}

const NO_JOBS: Readonly<Record<JobStatus, number>> = {
  QUEUED: 0,
  ASSIGNED: 0,
  RUNNING: 0,
  COMPLETED: 0,
  FAILED: 0,
  EXPIRED: 0,
  CANCELED: 0,
}

/** A name that is missing is refused: a variable that is not set must not hold up the whole program. */
function pauseKey(name: unknown): { readonly kind: 'task'; readonly name?: string } {
  if (typeof name !== 'string' || name === '') {
    throw invalidParams('name', 'the name of a task, or * for all', kindOf(name))
  }
  return { kind: 'task', ...(name === '*' ? {} : { name }) }
}

const BULK_NAMES = ['limit']

const NEW_JOB_NAMES: readonly (keyof NewJob<AnyTasks>)[] = ['name', 'data', 'options']

function listOf<Item>(jobs: Iterable<Item>): Item[] {
  const isList = typeof jobs === 'object' && jobs !== null && Symbol.iterator in jobs
  if (isList) return [...jobs]
  throw invalidParams('jobs', 'a list of { name, data, options }', kindOf(jobs))
}

/** Refused here, because the server would name the payload. */
function checkName(name: unknown): void {
  if (typeof name === 'string' && name !== '') return
  throw invalidParams(
    'name',
    'the name of a task, as in queue.add("email", data)',
    JSON.stringify(name),
  )
}
