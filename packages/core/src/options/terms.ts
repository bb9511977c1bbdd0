import type { KindName } from '../enqueue/kinds.ts'
import { isOwnTask } from '../enqueue/own-tasks.ts'
import type { Shape } from '../order/queued-job.ts'
import type { JobDefaults } from '../policy/job-defaults.ts'
import type { Policy } from '../policy/policy.ts'
import type { Backoff, JobOptions } from './job-options.ts'

/** A job as far as its terms depend on it. */
interface Optioned {
  readonly options: JobOptions | null
  readonly shape: Pick<Shape, 'kind' | 'model'>
}

/**
 * The charges that end a job. Where health is on, providers are not trusted, and the policy's number is the most
 * (OPTIONS-3); the server trusts itself.
 */
export function attemptsMax(job: Optioned, policy: Policy): number {
  const { attemptMax } = policy.queue.retries
  const own = job.options?.attempts ?? defaultOf('attempts', job.shape, policy)
  if (own === null) return attemptMax
  const isTrusted = policy.registry.health === 'off' || isOwnTask(job.shape)
  return isTrusted ? own : Math.min(own, attemptMax)
}

/** The backoff of a job; null if it has the policy's backoff by kind (RETRY-1). */
export function backoffOf(job: Optioned, policy: Policy): Backoff | null {
  return job.options?.backoff ?? defaultOf('backoff', job.shape, policy)
}

/** How long an attempt may take from its ack; null without an end (OPTIONS-5). */
export function timeoutMsOf(job: Optioned, policy: Policy): number | null {
  return job.options?.timeoutMs ?? defaultOf('timeoutMs', job.shape, policy)
}

/** The rank of a job among those of its caller, under fairness `tenant` (OPTIONS-6). */
export function priorityOf(job: Optioned, policy: Policy): number {
  return job.options?.priority ?? defaultOf('priority', job.shape, policy) ?? 0
}

/** How long a job is kept after its end, as its name or kind says; null if neither does (TTL-5). */
export function ownRetentionSecs(shape: Optioned['shape'], policy: Policy): number | null {
  return defaultOf('retentionSecs', shape, policy)
}

/** The setting for a task's name, else that for its kind; null if neither is set. */
function defaultOf<Name extends keyof JobDefaults>(
  name: Name,
  { kind, model }: { readonly kind: KindName; readonly model: string | null },
  { kinds, tasks }: Policy,
): JobDefaults[Name] | null {
  if (kind === 'registration') return null
  if (kind === 'task' && model !== null && Object.hasOwn(tasks, model)) {
    const own = tasks[model]?.[name] ?? null
    if (own !== null) return own
  }
  return kinds[kind][name]
}
