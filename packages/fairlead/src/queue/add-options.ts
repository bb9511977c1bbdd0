import type { EnqueueOptions } from '@fairlead/client'
import type { JobId } from '@fairlead/core'
import { refuseUnknown } from './refuse-unknown.ts'
import { type Duration, msOf, timeOf } from './time.ts'

/** How the wait after failed attempts grows: `base`, then `factor` times as long each time, up to `max`. */
export interface Backoff {
  readonly base: Duration
  /** 2 if left out; 1 is always the same wait. */
  readonly factor?: number
  /** `15m` if left out. */
  readonly max?: Duration
  /** The part of a wait that is drawn at random, 0 to 1, so that jobs that failed together spread out; 0.1 if left out. */
  readonly jitter?: number
}

/** How one job is to run. */
export interface AddOptions {
  /** Not before so long. */
  readonly delay?: Duration
  /** Not before this time. */
  readonly runAt?: Date | number
  /** Attempts that may fail before the job does. */
  readonly attempts?: number
  /** A duration is the first wait, which doubles up to 15 minutes. */
  readonly backoff?: Duration | Backoff
  /** The longest time that an attempt may take. */
  readonly timeout?: Duration
  /** −100 to 100; jobs of the same caller with a higher one go first. */
  readonly priority?: number
  readonly tags?: readonly string[]
  /** While a live job of this name has it, `add` gives that job and adds nothing. */
  readonly dedupeKey?: string
  /** Jobs, or their ids, that have to complete before. */
  readonly dependsOn?: readonly (string | { readonly id: string })[]
  /** If one of those does not complete: cancel this one (if left out), or run it all the same. */
  readonly onDependency?: 'cancel' | 'run'
  /** The same key again is the same job, also after it ended. Left out, each `add` has one of its own. */
  readonly key?: string
}

const BACKOFF = { factor: 2, max: '15m', jitter: 0.1 } as const

/** The options in the words of the wire. */
export function wireOptions(options: AddOptions): EnqueueOptions {
  refuseUnknown('options', options, NAMES)
  const { delay, runAt, attempts, backoff, timeout, priority } = options
  const { tags, dedupeKey, dependsOn, onDependency, key } = options
  const given = {
    delay_ms: delay === undefined ? undefined : msOf('delay', delay),
    run_at: runAt === undefined ? undefined : timeOf('runAt', runAt),
    attempts,
    backoff: backoff === undefined ? undefined : wireBackoff(backoff),
    timeout_ms: timeout === undefined ? undefined : msOf('timeout', timeout),
    priority,
    tags: tags && [...tags],
    dedupe_key: dedupeKey,
    depends_on: dependsOn?.map((job) => (typeof job === 'string' ? job : job.id) as JobId),
    on_dependency: onDependency,
    idempotency_key: key,
  }
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as EnqueueOptions
}

const NAMES: readonly (keyof AddOptions)[] = [
  'delay',
  'runAt',
  'attempts',
  'backoff',
  'timeout',
  'priority',
  'tags',
  'dedupeKey',
  'dependsOn',
  'onDependency',
  'key',
]

const BACKOFF_NAMES: readonly (keyof Backoff)[] = ['base', 'factor', 'max', 'jitter']

function wireBackoff(given: Duration | Backoff): EnqueueOptions['backoff'] {
  if (typeof given === 'object') refuseUnknown('fields', given, BACKOFF_NAMES, 'backoff.')
  const { base, factor, max, jitter } =
    typeof given === 'object' ? { ...BACKOFF, ...given } : { ...BACKOFF, base: given }
  return {
    base_ms: msOf('backoff.base', base),
    factor_permille: Math.round(1_000 * factor),
    cap_ms: Math.max(msOf('backoff.base', base), msOf('backoff.max', max)),
    jitter_permille: Math.round(1_000 * jitter),
  }
}
