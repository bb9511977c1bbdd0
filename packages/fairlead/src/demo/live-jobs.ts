import type { EnqueueRequest, Payloads } from '@fairlead/client'
import type { KindName } from '@fairlead/core'
import { LIVE_TENANTS } from './live-cast.ts'
import { SCARCE_MODEL } from './live-limits.ts'
import { answerTo } from './live-work.ts'

/** A job of the demo, and how it has to end. */
export interface LiveJob {
  readonly tenant: string
  readonly tier: string
  readonly request: EnqueueRequest
  readonly end: 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'CANCELED'
  /** What has to come out of it, where it is completed. */
  readonly output: string | null
}

const MODELS = ['llama3-8b', 'llama3-70b', SCARCE_MODEL]
/** What nobody offers. */
const UNKNOWN_KIND_OF_WORK = { regions: ['the-moon'] }
/** Jobs that cannot be done, so many of each sort. */
const HOPELESS = 3

/** So many jobs of each kind, shuffled over tenants; and a few that cannot be done. */
export function liveJobs(perKind: number): LiveJob[] {
  const jobs: LiveJob[] = []
  for (let i = 0; i < perKind; i++) jobs.push(aiJob(i), quantumJob(i), taskJob(i))
  for (let i = 0; i < HOPELESS; i++) jobs.push(brokenJob(i), lateJob(i), unwantedJob(i))
  return jobs
}

/** One more, for the trickle. */
export function liveJob(i: number): LiveJob {
  return [aiJob, quantumJob, taskJob][i % 3]?.(i) ?? taskJob(i)
}

/** One that needs a request of the scarce model. */
export function scarceJob(i: number): LiveJob {
  return aiJob(i * MODELS.length + MODELS.indexOf(SCARCE_MODEL))
}

function aiJob(i: number): LiveJob {
  const prompt = new TextEncoder().encode(`${i} sheep jump over the fence`)
  const model = MODELS[i % MODELS.length] ?? ''
  return completed(i, {
    kind: 'ai',
    payload: { model, prompt, max_tokens: 50 + (i % 10) * 40 },
    max_fee_u64: 1_000 * (1 + (i % 7)),
  })
}

function quantumJob(i: number): LiveJob {
  const circuit = new TextEncoder().encode(`h q[0]; cx q[0],q[1]; // ${i}`)
  return completed(i + 1, {
    kind: 'quantum',
    payload: { circuit, shots: 500 + (i % 10) * 100, depth_hint: i % 5 },
  })
}

function taskJob(i: number): LiveJob {
  const numbers = [i, 2 * i, 3 * i]
  return completed(i + 2, { kind: 'task', payload: { name: 'sum', args: { numbers } } })
}

function completed(i: number, request: EnqueueRequest): LiveJob {
  const work = { kind: request.kind as KindName, payload: request.payload as Payloads[KindName] }
  return { ...tenantOf(i), request, end: 'COMPLETED', output: answerTo(work as never) }
}

/** One whose input is wrong: it fails for good at the first attempt. */
function brokenJob(i: number): LiveJob {
  const payload = { name: 'parse', args: { text: `{"broken": ${i}` } }
  return { ...tenantOf(i), request: { kind: 'task', payload }, end: 'FAILED', output: null }
}

/** One that nobody can take before its time is over. */
function lateJob(i: number): LiveJob {
  const payload = { name: 'sum', args: { numbers: [i] } }
  const request: EnqueueRequest = {
    kind: 'task',
    payload,
    ttl_abs_secs: 4,
    ...UNKNOWN_KIND_OF_WORK,
  }
  return { ...tenantOf(i), request, end: 'EXPIRED', output: null }
}

/** One that its requester thinks better of. */
function unwantedJob(i: number): LiveJob {
  const payload = { name: 'sum', args: { numbers: [-i - 1] } }
  const request: EnqueueRequest = { kind: 'task', payload, ...UNKNOWN_KIND_OF_WORK }
  return { ...tenantOf(i), request, end: 'CANCELED', output: null }
}

function tenantOf(i: number): { readonly tenant: string; readonly tier: string } {
  const { name, tier } = LIVE_TENANTS[i % LIVE_TENANTS.length] ?? { name: 'acme', tier: 'FREE' }
  return { tenant: name, tier }
}
