import { invalidParams } from '@fairlead/core/limits'
import { knownFields } from '../known-fields.ts'
import type { JobUsage } from './cost.ts'
import { readUsage } from './model-options.ts'

/** What a job is given. */
export interface JobContext {
  readonly model: string
  readonly jobId: string
  /** Of what was started for this attempt; another one for the next. */
  readonly leaseId: string
  /** 1 for the first model that the job runs on. */
  readonly attempt: number
  /**
   * Ends the job here, with what it has used. With `delegate` the next model is tried, without it the job has
   * failed. Never returns.
   */
  readonly reject: (usage: JobUsage, options?: { readonly delegate?: boolean }) => never
}

export type RunJob<T> = (
  context: JobContext,
) => Promise<{ readonly data: T; readonly usage?: JobUsage }>

/** One run of a job on one model. */
export interface AttemptReport {
  readonly attempt: number
  readonly leaseId: string
  readonly model: string
  readonly state: Outcome<unknown>['state']
  /** Null if the job did not say. */
  readonly usage: JobUsage | null
  /** By the prices given; 0 where the job did not say what it used. */
  readonly cost: number
}

export type Outcome<T> =
  | { readonly state: 'done'; readonly data: T; readonly usage: JobUsage | undefined }
  | { readonly state: 'delegated'; readonly usage: JobUsage }
  | { readonly state: 'failed'; readonly error: unknown; readonly usage: JobUsage | undefined }

/** What became of a job. One that does not say what it used, or says it wrongly, keeps its estimate. */
export async function outcomeOf<T>(
  job: RunJob<T>,
  context: Omit<JobContext, 'reject'>,
): Promise<Outcome<T>> {
  try {
    const result = await job({ ...context, reject })
    if (typeof result !== 'object' || result === null) {
      throw invalidParams('job', 'a promise of { data, usage }')
    }
    const { data, usage } = result
    return { state: 'done', data, usage: usage == null ? undefined : readUsage(usage) }
  } catch (error) {
    if (!(error instanceof JobRejected)) return { state: 'failed', error, usage: undefined }
    const { usage, isDelegated } = error
    return isDelegated ? { state: 'delegated', usage } : { state: 'failed', error, usage }
  }
}

/** Thrown by `reject`, and by `run` where the job is not delegated. */
export class JobRejected extends Error {
  override readonly name = 'JobRejected'
  readonly usage: JobUsage
  readonly isDelegated: boolean
  /** All attempts of the job, this one included; empty before `run` has thrown it. */
  attempts: readonly AttemptReport[] = []

  constructor(usage: JobUsage, isDelegated: boolean) {
    super('the job has rejected this attempt')
    this.usage = usage
    this.isDelegated = isDelegated
  }

  /** Of all attempts. */
  get cost(): number {
    return costOfAll(this.attempts)
  }
}

export function costOfAll(attempts: readonly AttemptReport[]): number {
  return attempts.reduce((sum, { cost }) => sum + cost, 0)
}

const reject: JobContext['reject'] = (usage, options = {}) => {
  const { delegate = false } = knownFields('options', options, ['delegate'])
  throw new JobRejected(readUsage(usage), delegate)
}
