import { createHash } from 'node:crypto'
import { type Job as Lease, type StandardSchema, type Worker, worker } from '@fairlead/client'
import { FairleadError, type ProviderNotice } from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import { PermanentError } from './errors.ts'
import { fitted } from './fitted.ts'
import { checkReturned } from './plain-data.ts'
import type { QueuePort } from './port.ts'
import { refuseUnknown } from './refuse-unknown.ts'
import { type RunningJob, runningJob } from './running-job.ts'
import type { OnError } from './warn.ts'

export interface WorkOptions {
  /** Handlers that run at once in this process; 1 if left out. */
  readonly concurrency?: number
  /** The provider that the worker token is for; one for each task name if left out. */
  readonly provider?: string
  /** Hears what handlers threw and what else went wrong; a process warning if left out. */
  readonly onError?: OnError
  /** Hears why there is no work, and with null that this is over. */
  readonly onNotice?: (notice: ProviderNotice | null) => void
}

/** Around each handler: it calls `run`, or gives or throws another outcome of the attempt. */
export type Intercept = (job: RunningJob, run: () => Promise<unknown>) => Promise<unknown>

/** The schema of a task by its name. */
export type SchemaOf = (name: string, part: 'data' | 'result') => StandardSchema | undefined

export interface TaskWorkerParts {
  readonly port: QueuePort
  readonly name: string
  readonly handler: (data: never, job: RunningJob) => unknown
  readonly schemaOf: SchemaOf
  readonly intercept: Intercept | undefined
  readonly options: WorkOptions
}

/** Takes the jobs of one name, or of all with `*`, and runs the handler for each. */
export function taskWorker(parts: TaskWorkerParts): Worker {
  const { port, name, options } = parts
  const { concurrency = 1, provider = providerFor(name), onError, onNotice } = options
  return worker({
    source: port.leases,
    clock: port.clock,
    ...(port.workerIdFor === undefined ? {} : { workerId: port.workerIdFor(provider) }),
    ...(port.heartbeatMs === undefined ? {} : { heartbeatMs: port.heartbeatMs }),
    providerId: provider,
    kinds: ['task'],
    models: [name],
    concurrency,
    handler: (lease) => serve(lease, parts),
    ...(onError === undefined
      ? {}
      : { onError: (error, lease) => onError(error, lease && runningJob(lease as Lease<'task'>)) }),
    ...(onNotice === undefined ? {} : { onNotice }),
  })
}

/** Refuses options that mean nothing. */
export function checkWorkOptions(options: WorkOptions): void {
  refuseUnknown('options', options, WORK_NAMES)
  const { concurrency = 1 } = options
  if (Number.isSafeInteger(concurrency) && concurrency >= 1) return
  throw invalidParams('concurrency', 'a whole number of at least 1', String(concurrency))
}

const WORK_NAMES: readonly (keyof WorkOptions)[] = [
  'concurrency',
  'provider',
  'onError',
  'onNotice',
]

async function serve(lease: Lease<'task'>, parts: TaskWorkerParts): Promise<unknown> {
  const job = runningJob(lease)
  const { args } = lease.payload
  const run = async (): Promise<unknown> => {
    const { handler, schemaOf } = parts
    const schema = schemaOf(job.name, 'data')
    const data = schema === undefined ? args : await fittedData(schema, args)
    const value = await handler(data as never, job)
    await checkResult(value, schemaOf(job.name, 'result'))
    return value
  }
  return parts.intercept === undefined ? run() : parts.intercept(job, run)
}

async function fittedData(schema: StandardSchema, args: unknown): Promise<unknown> {
  try {
    return await fitted(schema, 'data', args)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    throw new PermanentError(error.message, { code: 'invalid_input', cause: error })
  }
}

/** Another attempt would return the same, so a result that cannot be kept as it is ends the job. */
async function checkResult(value: unknown, schema: StandardSchema | undefined): Promise<void> {
  try {
    // Bytes are kept as they are, and nothing as nothing.
    const isPlain = value !== undefined && !(value instanceof Uint8Array)
    if (isPlain) checkReturned(value)
    if (schema !== undefined) await fitted(schema, 'result', value)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    throw new PermanentError(error.message, { code: 'invalid_result', cause: error })
  }
}

/** Names the option that a worker lacks whose token is refused (QUEUE-15). */
export function withAdvice(error: unknown): unknown {
  if (!(error instanceof FairleadError) || error.code !== 'Forbidden') return error
  const advice = ADVICE.find(([detail]) => detail in error.details)?.[1]
  if (advice === undefined) return error
  return new FairleadError(error.code, `${error.message}; ${advice}`, error.details, {
    cause: error,
  })
}

/** By the detail that tells what was refused. */
const ADVICE: readonly (readonly [detail: string, advice: string])[] = [
  [
    'role',
    'for workers, open the queue with { url, token, workerToken }, where workerToken has the role provider',
  ],
  ['providerId', 'name the provider of the worker token: work(name, handler, { provider })'],
]

/** A provider of its own for each name, because an offer is that of the provider and not of one process. */
export function providerFor(name: string): string {
  if (name === '*') return 'provider:queue'
  if (/^[a-z0-9._-]{1,48}$/.test(name)) return `provider:queue.${name}`
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16)
  return `provider:queue.${name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .slice(0, 32)}.${digest}`
}
