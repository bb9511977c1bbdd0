import { invalidParams } from '@fairlead/core'
import type { JobUsage } from './cost.ts'
import { readUsage } from './model-options.ts'

/** What a job is given. */
export interface JobContext {
  readonly model: string
  /**
   * Ends the job here, with what it has used. With `delegate` the next model is tried, without it the job has
   * failed. Never returns.
   */
  readonly reject: (usage: JobUsage, options?: { readonly delegate?: boolean }) => never
}

export type RunJob<T> = (
  context: JobContext,
) => Promise<{ readonly data: T; readonly usage?: JobUsage }>

export type Outcome<T> =
  | { readonly state: 'done'; readonly data: T; readonly usage: JobUsage | undefined }
  | { readonly state: 'delegated'; readonly usage: JobUsage }
  | { readonly state: 'failed'; readonly error: unknown; readonly usage: JobUsage | undefined }

/** What became of a job. One that does not say what it used, or says it wrongly, keeps its estimate. */
export async function outcomeOf<T>(job: RunJob<T>, model: string): Promise<Outcome<T>> {
  try {
    const result = await job({ model, reject })
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

  constructor(usage: JobUsage, isDelegated: boolean) {
    super('the job has rejected this attempt')
    this.usage = usage
    this.isDelegated = isDelegated
  }
}

const reject: JobContext['reject'] = (usage, { delegate = false } = {}) => {
  throw new JobRejected(readUsage(usage), delegate)
}
