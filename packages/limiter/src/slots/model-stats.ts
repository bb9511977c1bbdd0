import { type SlotPool, type TypeSlots, type Usage, WHOLE_PPM } from '@fairlead/core'
import type { JobTypes } from './job-types.ts'
import type { JobType } from './model-options.ts'
import type { ModelPool } from './model-pool.ts'

export interface ModelLimiterStats {
  readonly models: Readonly<
    Record<string, { readonly used: Usage; readonly pool: SlotPool; readonly inFlight: number }>
  >
  readonly jobTypes: Readonly<
    Record<
      string,
      {
        readonly ratio: number
        readonly models: Readonly<
          Record<
            string,
            {
              readonly slots: TypeSlots['slots']
              readonly inFlight: number
              readonly waiting: number
            }
          >
        >
      }
    >
  >
  readonly activeJobs: readonly {
    readonly model: string
    readonly jobType: string
    readonly startedAt: number
  }[]
}

export function statsOf(input: {
  readonly nowMs: number
  readonly pools: ReadonlyMap<string, ModelPool>
  readonly types: ReadonlyMap<string, JobType>
  readonly jobTypes: JobTypes
  readonly waiting: (type: string, model: string) => number
  readonly active: ModelLimiterStats['activeJobs']
}): ModelLimiterStats {
  const { nowMs, pools, types, jobTypes, waiting, active } = input
  const models = [...pools].map(([model, pool]) => {
    const shown = { used: pool.used(nowMs), pool: pool.pool(nowMs), inFlight: pool.inFlight }
    return [model, shown] as const
  })
  const ofType = (type: JobType) => {
    const onModels = [...pools].map(([model, pool]) => {
      const { slots } = jobTypes.slots(type, pool.pool(nowMs))
      const inFlight = jobTypes.inFlight(type.name, model)
      return [model, { slots, inFlight, waiting: waiting(type.name, model) }] as const
    })
    const ratio = (jobTypes.ratios.get(type.name) ?? 0) / WHOLE_PPM
    return [type.name, { ratio, models: Object.fromEntries(onModels) }] as const
  }
  return {
    models: Object.fromEntries(models),
    jobTypes: Object.fromEntries([...types.values()].map(ofType)),
    activeJobs: active,
  }
}
