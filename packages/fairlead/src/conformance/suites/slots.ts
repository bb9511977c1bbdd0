import {
  adjustRatios,
  initRatios,
  poolOf,
  type Ratios,
  SharedUsage,
  typeSlots,
} from '@fairlead/core/internal'
import { type Json, refusal, suite } from '../suite.ts'

/** §14: pools, slots of job types, ratios, and what all instances share. */
export const slots = suite((input) => {
  const run = KINDS[input.kind]
  if (run === undefined) throw new TypeError(`kind: unknown kind ${input.kind}`)
  return run(input)
})

const KINDS: Readonly<Record<string, (input: Json) => Json>> = {
  pool({ limits, used, instances, job_types: jobTypes, estimate }) {
    const { shares, totalSlots } = poolOf({
      limits: limitsOf(limits),
      used,
      instances,
      jobTypes,
      estimate,
    })
    return { shares, total_slots: totalSlots }
  },
  type_slots({ shares, total_slots: totalSlots, ratio, tokens, requests, min_capacity }) {
    const estimate = { tokens, requests }
    const input = { shares, totalSlots, ratioPpm: ratio, estimate, minCapacity: min_capacity }
    const { candidates, slots: found, winner } = typeSlots(input)
    const shown = winner && {
      dimension: winner.dimension,
      window_ms: winner.windowMs,
      slots: winner.slots,
    }
    return { candidates, slots: found, winner: shown }
  },
  init_ratios({ types }) {
    let ratios: Ratios = new Map()
    const given = types.map(({ name, initial }: Json) => ({ name, initialPpm: initial }))
    const error = refusal(() => {
      ratios = initRatios(given)
    })
    return error === null ? { ratios: Object.fromEntries(ratios) } : { error }
  },
  adjust({ types, low, high, min_ratio, max_adjustment }) {
    const loads = types.map(({ ratio, ...rest }: Json) => ({ ...rest, ratioPpm: ratio }))
    const ratios = adjustRatios(loads, {
      lowPpm: low,
      highPpm: high,
      minRatioPpm: min_ratio,
      maxAdjustmentPpm: max_adjustment,
    })
    return { ratios: Object.fromEntries(ratios) }
  },
  shared({ limits, steps }) {
    const usage = new SharedUsage(limitsOf(limits))
    const answers = steps.map((step: Json) => {
      const answer = sharedStep(usage, step)
      return { ...answer, used: usage.used(step.at), in_flight: usage.inFlight }
    })
    return { steps: answers }
  },
}

function sharedStep(usage: SharedUsage, { op, at, ref, tokens, requests, actual }: Json): Json {
  if (op === 'acquire') return usage.acquire(ref, { tokens, requests }, at)
  if (op === 'release') return usage.release(ref, actual, at)
  throw new TypeError(`unknown op ${op}`)
}

function limitsOf({ max_concurrency, ...rates }: Json): Json {
  return { ...rates, maxConcurrency: max_concurrency }
}
