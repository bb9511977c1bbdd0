import type { CborMap } from '../encoding/cbor.ts'
import type { Policy } from '../policy/policy.ts'
import {
  byteString,
  count,
  jsonObject,
  type PayloadField,
  temperature,
  text,
  timeMs,
  u32Hint,
} from './payload.ts'

/** The properties of a kind of job. A new kind is a new row (KIND-1). */
export interface Kind {
  /** The payload, in canonical key order. */
  readonly fields: Readonly<Record<string, PayloadField>>
  /** Caps by payload field. */
  readonly caps: (policy: Policy) => Readonly<Record<string, number>>
  /** The demands of a payload that matching looks at. */
  readonly demand: (payload: CborMap) => Demand
  readonly leaseSecs: (policy: Policy) => number
  /** How long the worker of such a job may be gone before the job is given back. */
  readonly workerLostMs: (policy: Policy) => number
  /** First backoff delay; registrations retry by their session's own schedule. */
  readonly backoffBaseSecs: (policy: Policy) => number
  /** Null if there is no end. */
  readonly ttlAbsSecs: (policy: Policy) => number | null
  readonly unitsPerEpoch: (policy: Policy) => number | null
  readonly verification: (policy: Policy) => 'none' | 'proof'
  /** Null if no proof of such work exists. */
  readonly proof: ProofType | null
}

/** The form of the proofs of a kind (PROOF-1). */
export interface ProofType {
  readonly typeId: number
  readonly name: string
  /** True if a proof says how its trap circuits went. */
  readonly hasTraps: boolean
}

/** The demands of a job on a provider beside its kind. */
export interface Demand {
  /** ai: the model; task: its name; registration: its platform; else null. */
  readonly model: string | null
  /** quantum only, else 0. */
  readonly shots: number
  readonly depthHint: number
  /** Estimated units (QUOTA-2). */
  readonly units: number
  /** ai: the most tokens that it can use, the bytes of its prompt plus `max_tokens`; else 0. */
  readonly tokens: number
}

/** The kinds, in the order in which a round serves them (MATCH-1). */
export const KIND_NAMES = ['ai', 'quantum', 'task', 'registration'] as const
export type KindName = (typeof KIND_NAMES)[number]

export const KINDS: Readonly<Record<KindName, Kind>> = {
  ai: {
    fields: {
      model: text,
      prompt: byteString(0),
      max_tokens: count,
      qos_hint_ms: u32Hint,
      temperature,
    },
    caps: ({ caps }) => ({
      model: caps.ai.model,
      prompt: caps.ai.prompt,
      max_tokens: caps.ai.maxTokens,
    }),
    demand: ({ model, max_tokens: maxTokens, prompt }) =>
      aiDemand(model as string, maxTokens as number, (prompt as Uint8Array).length),
    leaseSecs: ({ queue }) => queue.lease.aiSecs,
    workerLostMs: ({ queue }) => queue.workerLostMs,
    backoffBaseSecs: ({ queue }) => queue.retries.baseBackoffAiSecs,
    ttlAbsSecs: ({ queue }) => queue.ttl.absDefaultAiSecs,
    unitsPerEpoch: ({ queue }) => queue.quotas.aiUnitsPerEpoch,
    verification: ({ queue }) => queue.completion.aiVerification,
    proof: { typeId: 2, name: 'AI_V1', hasTraps: false },
  },
  quantum: {
    fields: { shots: count, circuit: byteString(1), depth_hint: u32Hint },
    caps: ({ caps }) => ({ circuit: caps.quantum.circuit, shots: caps.quantum.shots }),
    demand: (payload) => quantumDemand(payload['shots'] as number, payload['depth_hint'] as number),
    leaseSecs: ({ queue }) => queue.lease.quantumSecs,
    workerLostMs: ({ queue }) => queue.workerLostMs,
    backoffBaseSecs: ({ queue }) => queue.retries.baseBackoffQuantumSecs,
    ttlAbsSecs: ({ queue }) => queue.ttl.absDefaultQuantumSecs,
    unitsPerEpoch: ({ queue }) => queue.quotas.quantumUnitsPerEpoch,
    verification: ({ queue }) => queue.completion.quantumVerification,
    proof: { typeId: 3, name: 'QUANTUM_V1', hasTraps: true },
  },
  task: {
    fields: { args: jsonObject, name: text },
    caps: ({ caps }) => ({ name: caps.task.name, args: caps.task.args }),
    demand: (payload) => taskDemand(payload['name'] as string),
    leaseSecs: ({ queue }) => queue.lease.taskSecs,
    workerLostMs: ({ queue }) => queue.workerLostMs,
    backoffBaseSecs: ({ queue }) => queue.retries.baseBackoffTaskSecs,
    ttlAbsSecs: ({ queue }) => queue.ttl.absDefaultTaskSecs,
    unitsPerEpoch: ({ queue }) => queue.quotas.taskUnitsPerEpoch,
    verification: ({ queue }) => queue.completion.taskVerification,
    proof: null,
  },
  registration: {
    fields: {
      args: jsonObject,
      org_ref: text,
      user_id: text,
      event_id: text,
      provider: text,
      scheduled_time: timeMs,
    },
    caps: ({ caps: { registration } }) => ({
      args: registration.args,
      org_ref: registration.orgRef,
      user_id: registration.userId,
      event_id: registration.eventId,
      provider: registration.provider,
    }),
    demand: (payload) => registrationDemand(payload['provider'] as string),
    leaseSecs: ({ queue }) => queue.lease.registrationSecs,
    workerLostMs: ({ queue }) => queue.workerLostRegistrationMs,
    backoffBaseSecs: () => 0,
    ttlAbsSecs: ({ queue }) => queue.ttl.absDefaultRegistrationSecs,
    unitsPerEpoch: ({ queue }) => queue.quotas.registrationUnitsPerEpoch,
    // A booking at a platform needs no proof.
    verification: () => 'none',
    proof: null,
  },
}

/** The proof type with this number; null if there is none. */
export function proofTypeOf(typeId: unknown): ProofType | null {
  for (const kind of KIND_NAMES) {
    const { proof } = KINDS[kind]
    if (proof !== null && proof.typeId === typeId) return proof
  }
  return null
}

export function isKindName(name: unknown): name is KindName {
  return KIND_NAMES.some((kind) => kind === name)
}

/** QUOTA-2: one unit for each started 100 tokens. A token of a prompt has at least one byte (ADMIT-2). */
export function aiDemand(model: string, maxTokens: number, promptBytes = 0): Demand {
  const units = Math.ceil(maxTokens / 100)
  return { model, shots: 0, depthHint: 0, units, tokens: promptBytes + maxTokens }
}

/** QUOTA-2: one unit for each started 10,000 shot layers; a depth of 0 counts as 1. */
export function quantumDemand(shots: number, depthHint: number): Demand {
  const layers = BigInt(shots) * BigInt(Math.max(1, depthHint))
  return { model: null, shots, depthHint, units: Number((layers + 9_999n) / 10_000n), tokens: 0 }
}

/** QUOTA-2: a task is one unit. Its name takes the place of an ai job's model. */
export function taskDemand(name: string): Demand {
  return { model: name, shots: 0, depthHint: 0, units: 1, tokens: 0 }
}

/** QUOTA-2: a registration is one unit. Its platform takes the place of an ai job's model. */
export function registrationDemand(platform: string): Demand {
  return { model: platform, shots: 0, depthHint: 0, units: 1, tokens: 0 }
}
