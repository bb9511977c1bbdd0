import { inspect } from 'node:util'
import type { EnqueueOptions } from '@fairlead/client'
import type { JobId } from '@fairlead/core'
import { BACKOFF_FIELDS, invalidParams } from '@fairlead/core/internal'
import { kindOf } from './plain-data.ts'
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

/** A job, or its id. */
export type Dependency = string | { readonly id: string }

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
  /** What has to complete before. */
  readonly dependsOn?: Dependency | readonly Dependency[]
  /** If one of those does not complete: cancel this one (if left out), or run it all the same. */
  readonly onDependency?: 'cancel' | 'run'
  /** The same key again is the same job, also after it ended. Left out, each `add` has one of its own. */
  readonly key?: string
}

const BACKOFF = { factor: 2, max: '15m', jitter: 0.1 } as const

/** Refuses options whose names are not known. `path` stands before them, as in `defaults.`. */
export function checkAddOptions(options: unknown, path = ''): void {
  refuseUnknown('options', options, NAMES, path)
}

/** The options in the words of the wire. */
export function wireOptions(options: AddOptions): EnqueueOptions {
  checkAddOptions(options)
  const { delay, runAt, attempts, backoff, timeout, priority } = options
  const { tags, dedupeKey, dependsOn, onDependency, key } = options
  const given = {
    delay_ms: delay === undefined ? undefined : msOf('delay', delay),
    run_at: runAt === undefined ? undefined : timeOf('runAt', runAt),
    attempts,
    backoff: backoff === undefined ? undefined : wireBackoff(backoff),
    timeout_ms: timeout === undefined ? undefined : msOf('timeout', timeout),
    priority,
    tags: tags === undefined ? undefined : wireTags(tags),
    dedupe_key: dedupeKey,
    depends_on: dependsOn === undefined ? undefined : wireDependencies(dependsOn),
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

/** Text is a list of its letters to JavaScript, so it is refused here. */
function wireTags(given: unknown): string[] {
  if (!Array.isArray(given))
    throw invalidParams('tags', 'a list of text, such as ["welcome"]', kindOf(given))
  return given.map((tag: unknown, i) => {
    if (typeof tag === 'string') return tag
    throw invalidParams(`tags[${i}]`, 'text', kindOf(tag))
  })
}

function wireDependencies(given: unknown): JobId[] {
  const isList = Array.isArray(given)
  return (isList ? given : [given]).map((job: unknown, i) => {
    const id = typeof job === 'object' && job !== null && 'id' in job ? job.id : job
    if (typeof id === 'string') return id as JobId
    throw invalidParams(isList ? `dependsOn[${i}]` : 'dependsOn', 'a job, or its id', kindOf(job))
  })
}

function wireBackoff(given: Duration | Backoff): EnqueueOptions['backoff'] {
  const isWhole = typeof given === 'number' || typeof given === 'string'
  if (!isWhole) refuseUnknown('fields', given, BACKOFF_NAMES, 'backoff.')
  const { base, factor, max, jitter } = isWhole
    ? { ...BACKOFF, base: given }
    : { ...BACKOFF, ...given }
  const baseMs = msOf(isWhole ? 'backoff' : 'backoff.base', base)
  return {
    base_ms: baseMs,
    factor_permille: permille('backoff.factor', factor, BACKOFF_FIELDS.factor_permille),
    cap_ms: Math.max(baseMs, msOf('backoff.max', max)),
    jitter_permille: permille('backoff.jitter', jitter, BACKOFF_FIELDS.jitter_permille),
  }
}

/** Bounds are those of the wire, in thousandths. */
function permille(
  field: string,
  given: unknown,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  if (typeof given === 'number') {
    const value = Math.round(1_000 * given)
    if (value >= min && value <= max) return value
  }
  throw invalidParams(field, `a number from ${min / 1_000} to ${max / 1_000}`, inspect(given))
}
