import { CborFloat, type CborMap, type CborValue, decodeCbor, type KindName } from '@fairlead/core'

/** Any value that JSON can hold. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

/** What the payload of each kind holds when it reaches a handler: every field is there. */
export interface Payloads {
  readonly ai: {
    readonly model: string
    readonly prompt: Uint8Array
    readonly max_tokens: number
    readonly temperature: number
    readonly qos_hint_ms: number
  }
  readonly quantum: {
    readonly circuit: Uint8Array
    readonly shots: number
    readonly depth_hint: number
  }
  readonly task: { readonly name: string; readonly args: { readonly [key: string]: Json } }
  readonly registration: {
    readonly provider: string
    readonly org_ref: string
    readonly event_id: string
    readonly user_id: string
    readonly args: { readonly [key: string]: Json }
    readonly scheduled_time: number
  }
}

/** The payload as a handler gets it: as it was sent, with plain numbers. */
export function payloadOf(payload: Uint8Array | CborMap): Payloads[KindName] {
  const map = payload instanceof Uint8Array ? (decodeCbor(payload) as CborMap) : payload
  return plain(map) as unknown as Payloads[KindName]
}

/** Floats are wrapped in CBOR, so that 1.0 is told from 1; a handler has no use for that. */
function plain(value: CborValue): unknown {
  if (isPlain(value)) return value
  if (value instanceof CborFloat) return value.value
  if (Array.isArray(value)) return value.map(plain)
  // fromEntries defines properties, so a key `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value as CborMap).map(([key, item]) => [key, plain(item)]),
  )
}

/** Nothing in it has to change: so it is with all that came as JSON. */
function isPlain(value: CborValue): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true
  if (value instanceof CborFloat) return false
  return Object.values(value).every(isPlain)
}
