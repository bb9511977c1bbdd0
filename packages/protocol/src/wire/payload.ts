import { type CborMap, decodeCbor } from '@fairlead/core'
import { jsonOf } from '@fairlead/core/internal'
import { z } from 'zod'
import { bytes, count, jsonObject, LEAVES, u64 } from './leaves.ts'

/**
 * The payload of each kind in JSON, for documents and types. What comes in is checked by the rules of
 * its kind (ENQUEUE-2), which know the caps and tell a wrong field from one that is too long.
 */
export const PAYLOADS = {
  ai: z
    .strictObject({
      model: z.string(),
      prompt: bytes,
      max_tokens: z.int().min(1),
      temperature: z.number().min(0).max(2).optional(),
      qos_hint_ms: count.optional(),
    })
    .meta({ id: 'AiPayload' }),
  quantum: z
    .strictObject({ circuit: bytes, shots: z.int().min(1), depth_hint: count.optional() })
    .meta({ id: 'QuantumPayload' }),
  task: z.strictObject({ name: z.string(), args: jsonObject }).meta({ id: 'TaskPayload' }),
  registration: z
    .strictObject({
      provider: z.string(),
      org_ref: z.string(),
      event_id: z.string(),
      user_id: z.string(),
      args: jsonObject,
      scheduled_time: u64,
    })
    .meta({ id: 'RegistrationPayload' }),
} as const

export type PayloadOf<Kind extends keyof typeof PAYLOADS> = z.input<(typeof PAYLOADS)[Kind]>
export type AnyPayload = { [Kind in keyof typeof PAYLOADS]: PayloadOf<Kind> }[keyof typeof PAYLOADS]

/** For documents only. */
export const anyPayload = z.union(Object.values(PAYLOADS))

/** A payload on its way in or out. */
export const payload = z
  .custom<AnyPayload>((written) => typeof written === 'object' && written !== null, {
    error: 'expected an object with the fields of its kind',
  })
  .register(LEAVES, { leaf: 'payload' })

/** A stored payload on its way out: its map in CBOR, the same with hex and plain numbers in JSON. */
export class PayloadView {
  readonly #cbor: Uint8Array

  constructor(cbor: Uint8Array) {
    this.#cbor = cbor
  }

  get map(): CborMap {
    return decodeCbor(this.#cbor) as CborMap
  }

  toJSON(): unknown {
    return jsonOf(this.map)
  }
}
