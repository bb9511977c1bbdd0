import { type SlotPool, type TypeSlots, type Usage, WHOLE_PPM } from '@fairlead/core/limits'
import type { JobTypes } from './job-types.ts'
import type { JobType } from './model-options.ts'
import type { ModelPools } from './model-pools.ts'

export interface ModelLimiterStats {
  readonly models: Readonly<
    Record<
      string,
      {
        /** By this instance, in the current windows. */
        readonly used: Usage
        readonly pool: SlotPool
        /** Of this instance. */
        readonly inFlight: number
        /** Among which the model is divided; 0 while that is not known. */
        readonly instances: number
      }
    >
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
  readonly models: readonly string[]
  readonly pools: ModelPools
  readonly types: ReadonlyMap<string, JobType>
  readonly jobTypes: JobTypes
  readonly waiting: (type: string, model: string) => number
  readonly active: ModelLimiterStats['activeJobs']
}): ModelLimiterStats {
  const { nowMs, pools, types, jobTypes, waiting, active } = input
  const poolOf = (model: string): SlotPool => pools.view(model).pool(nowMs)
  const models = input.models.map((model) => {
    const instances = pools.view(model).allocation?.instances ?? 0
    return [model, { ...pools.own(model), pool: poolOf(model), instances }] as const
  })
  const ofType = (type: JobType) => {
    const onModels = input.models.map((model) => {
      const { slots } = jobTypes.slots(type, poolOf(model))
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
