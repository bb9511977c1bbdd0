import { aiDemand, type Demand, type Job, quantumDemand, taskDemand } from '@fairlead/core'
import { newJob } from '@fairlead/core/internal'
import { amount, type Json } from '../suite.ts'

/** A waiting job as the vectors describe one, with their defaults. */
export function vectorJob(json: Json): Job {
  const job = newJob(
    {
      id: json.job_id,
      kind: json.kind ?? 'ai',
      caller: json.caller ?? '0x',
      tier: json.tier ?? 'FREE',
      fee: amount(json.fee ?? 0),
      sizeBytes: json.size_bytes ?? 1_000,
      demand: vectorDemand(json),
      regions: json.regions ?? null,
      ttlAbsSecs: json.ttl_abs_secs ?? null,
      enqueueSeq: json.enqueue_seq ?? 0,
    },
    json.enqueue_ts,
  )
  job.notBefore = json.not_before ?? null
  return job
}

export function vectorDemand(json: Json): Demand {
  switch (json.kind ?? 'ai') {
    case 'ai':
      return aiDemand(json.model ?? '', json.max_tokens ?? 100)
    case 'quantum':
      return quantumDemand(json.shots ?? 1_000, json.depth_hint ?? 0)
    default:
      return taskDemand(json.model ?? json.name ?? '')
  }
}
