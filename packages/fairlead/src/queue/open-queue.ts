import { fileURLToPath } from 'node:url'
import type { Clock } from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import { isPostgres } from '../storage/store-address.ts'
import { type AddOptions, checkAddOptions, wireOptions } from './add-options.ts'
import { inPlace } from './own-words.ts'
import { kindOf } from './plain-data.ts'
import type { QueuePort } from './port.ts'
import { closeOnSignals, Queue } from './queue.ts'
import { refuseUnknown } from './refuse-unknown.ts'
import { type ServerAddress, serverPort } from './server-port.ts'
import type { AnyTasks, SchemasByName, TaskSchemas } from './tasks.ts'
import { type Duration, msOf } from './time.ts'
import { type OnError, warn } from './warn.ts'

/** A file, `:memory:`, `postgres://…`, or a server. */
export type QueueTarget = string | ServerAddress

export interface QueueOptions {
  /** For every `add` that does not say otherwise. */
  readonly defaults?: AddOptions
  /** On SIGTERM and SIGINT the queue is closed, and then the process ends; with how long handlers may take for that. */
  readonly closeOnSignals?: boolean | { readonly deadline: Duration }
  /** Hears what handlers threw and what else went wrong; a process warning if left out. */
  readonly onError?: OnError
  /** Of a queue in memory, for tests; see `fairlead/test`. */
  readonly clock?: Clock
}

/**
 * Opens a queue: `./jobs.db` is a file of this process, `:memory:` is gone with it, `postgres://…` is a database that this
 * process leads, `http://…` is a server. Types by task
 * name are given as functions, `openQueue<{ email(data: { to: string }): void }>`, or come from schemas in `tasks`.
 */
export function openQueue<const Schemas extends SchemasByName>(
  target: QueueTarget,
  options: QueueOptions & { readonly tasks: Schemas },
): Promise<Queue<Schemas>>
export function openQueue<Tasks = AnyTasks>(
  target: QueueTarget,
  options?: QueueOptions,
): Promise<Queue<Tasks>>
export async function openQueue(
  target: QueueTarget,
  options: QueueOptions & { readonly tasks?: SchemasByName } = {},
): Promise<Queue<never>> {
  await checkOptions(options)
  const { defaults = {}, tasks = {}, onError = warn, closeOnSignals: closing = false } = options
  const port = await openPort(target, options.clock)
  const queue = new Queue<never>({ port, schemas: tasks, defaults, onError })
  if (closing !== false) closeOnSignals(queue, closing === true ? undefined : closing.deadline)
  return queue
}

/** All that would be found out later, or never. */
async function checkOptions(
  options: QueueOptions & { readonly tasks?: SchemasByName },
): Promise<void> {
  refuseUnknown('options', options, OPTION_NAMES)
  const { defaults = {}, tasks = {}, onError, closeOnSignals: closing = false } = options
  checkAddOptions(defaults, 'defaults.')
  await inPlace('defaults.', (async () => wireOptions(defaults))())
  if (typeof tasks !== 'object' || tasks === null) {
    throw invalidParams('tasks', 'schemas by the name of a task', kindOf(tasks))
  }
  for (const [name, schemas] of Object.entries(tasks)) {
    refuseUnknown('schemas', schemas, SCHEMA_NAMES, `tasks.${name}.`)
  }
  if (onError !== undefined && typeof onError !== 'function') {
    throw invalidParams('onError', 'a function (error, job) => …', kindOf(onError))
  }
  if (typeof closing === 'boolean') return
  if (typeof closing !== 'object' || closing === null) {
    throw invalidParams('closeOnSignals', 'true, false or { deadline }', kindOf(closing))
  }
  refuseUnknown('fields', closing, ['deadline'], 'closeOnSignals.')
  msOf('closeOnSignals.deadline', closing.deadline)
}

const SCHEMA_NAMES: readonly (keyof TaskSchemas)[] = ['data', 'result']

const SERVER_NAMES: readonly (keyof ServerAddress)[] = ['url', 'token', 'workerToken']

/** `localhost:7433` and `[::1]:7433`. A path has a slash or no port. */
const HOST_AND_PORT = /^(?:[a-z0-9][a-z0-9.-]+|\[[0-9a-f:]+\]):\d{1,5}(?:\/.*)?$/i

const OPTION_NAMES: readonly string[] = [
  'tasks',
  'defaults',
  'closeOnSignals',
  'onError',
  'clock',
] satisfies (keyof QueueOptions | 'tasks')[]

/** The engine is loaded for a queue in this process only. */
async function openPort(target: QueueTarget, clock: Clock | undefined): Promise<QueuePort> {
  if (clock !== undefined && target !== ':memory:') {
    throw invalidParams('clock', 'none but for a queue in :memory:')
  }
  if (typeof target === 'object' && target !== null && typeof target.url === 'string') {
    refuseUnknown('fields', target, SERVER_NAMES, 'target.')
    return serverPort(target)
  }
  if (typeof target !== 'string' || target === '') {
    throw invalidParams('target', 'a file, :memory:, the URL of a server, or { url, token }')
  }
  if (/^(?:http|ws)s?:\/\//.test(target)) return serverPort({ url: target })
  if (HOST_AND_PORT.test(target)) {
    const expected = `the URL of a server, such as http://${target}, or a file, such as ./${target}`
    throw invalidParams('target', expected, target)
  }
  const { openFilePort, openMemoryPort, openPostgresPort } = await import('./local-port.ts')
  if (target === ':memory:') return openMemoryPort(clock)
  if (isPostgres(target)) return openPostgresPort(target)
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(target) && !target.startsWith('file:')) {
    throw invalidParams(
      'target',
      'a file, :memory:, or a URL that begins with postgres://, http:// or https://',
      target,
    )
  }
  return openFilePort(target.startsWith('file:') ? fileURLToPath(target) : target)
}
